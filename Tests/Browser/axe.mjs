// axe-core, and checks that it does not make: the size of targets and the contrast of controls.

import { readFileSync } from 'node:fs';
import { fromPyPI } from './packages.mjs';

/** The text of axe-core, from the package on PyPI that carries it; AXE names another file. */
function source() {
  const file = process.env.AXE ?? fromPyPI('axe-core-python==0.1.0', 'axe_core_python/axe.min.js');
  return readFileSync(file, 'utf8');
}

/** The findings of axe in a page: one line per element. */
export async function violations(page) {
  await page.send('Runtime.evaluate', { expression: source() });
  return page.run(async () => {
    const { violations: found } = await globalThis.axe.run(document, { resultTypes: ['violations'],
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] });
    return found.flatMap(({ id, nodes }) => nodes.map(({ target, any, all, none }) =>
      `${id}: ${target.join(' ')}: ${[...any, ...all, ...none].map(({ message }) => message).join('; ')}`.slice(0, 300)));
  });
}

/** Controls that are seen and smaller than 44 by 44 pixels; links within sentences may be. */
export const smallTargets = () => {
  const isSeen = (element) => {
    const box = element.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    if (box.width === 0 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
    const top = document.elementFromPoint(x, y);
    return element.contains(top) || top?.closest('label')?.contains(element);
  };
  const isInline = (element) => element.localName === 'a' && element.closest('p') !== null;
  return [...document.querySelectorAll('button, a[href], input, select, textarea, summary, [role=button]')]
    .filter((element) => isSeen(element) && !isInline(element) && element.type !== 'file').map((element) => {
      const { width, height } = (element.closest('label') ?? element).getBoundingClientRect();
      return { name: `${element.localName}.${element.className} ${element.ariaLabel ?? element.textContent.slice(0, 20)}`, width, height };
    }).filter(({ width, height }) => width < 43.5 || height < 43.5)
    .map(({ name, width, height }) => `${name}: ${Math.round(width)} × ${Math.round(height)}`);
};

/** Fields whose border, and see-through buttons whose text, has a contrast below 3 with what is around them. */
export const faintFields = () => {
  const channels = (colour) => {
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    for (let place = element; place; place = place.parentElement) {
      const { backgroundColor } = getComputedStyle(place);
      if (channels(backgroundColor)[3] === 255) return backgroundColor;
    }
    return 'white';
  };
  const buttons = [...document.querySelectorAll('button:enabled')].filter((element) => element.getClientRects().length > 0).flatMap((element) => {
    const { color, opacity } = getComputedStyle(element);
    const around = ground(element);
    const isWhole = opacity === '0' || opacity === '1';
    return isWhole ? [] : [{ name: `button.${element.className}`, best: contrast(`color-mix(in srgb, ${color} ${opacity * 100}%, ${around})`, around) }];
  });
  const fields = [...document.querySelectorAll('input:not([type=checkbox], [type=radio], [type=file]), select, textarea')]
    .filter((element) => element.getClientRects().length > 0).map((element) => {
      const box = element.closest('.predicate-box') ?? element;
      const around = ground(box.parentElement);
      const { borderTopColor, borderTopWidth, backgroundColor } = getComputedStyle(box);
      const border = borderTopWidth === '0px' ? 1 : contrast(borderTopColor, around);
      return { name: `${box.localName}.${box.className} ${element.ariaLabel ?? ''}`, best: Math.max(border, contrast(backgroundColor, around)) };
    });
  return [...new Map([...fields, ...buttons].map((each) => [each.name, each])).values()].filter(({ best }) => best < 3).map(({ name, best }) => `${name}: ${best.toFixed(2)}`);
};
