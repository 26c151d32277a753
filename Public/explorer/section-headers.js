// The headers of sections: at their places in the table, and one pinned to the top until the next
// one pushes it away.

import { h, replace } from './dom.js';
import { stringify } from './json.js';
import { SECTION_HEADER } from './layout.js';

export class SectionHeaders {
  /** Stays at the top edge; belongs into a sticky box of no height. */
  pinned = h('div', { class: 'section-head' });
  #shown = new Map();
  #body;
  #motion;

  constructor(body, motion) {
    this.#body = body;
    this.#motion = motion;
  }

  /** @param change `{from, to}`: the heights that show; `plays`, `shift` where things move. */
  draw(layout, { from, to, plays, shift }) {
    const former = this.#shown;
    this.#shown = new Map();
    for (const { section, y } of layout.headers(from, to)) {
      const key = stringify(layout.sections[section].value);
      const header = former.get(key) ?? { element: h('div', { class: 'section-head', role: 'row' }) };
      former.delete(key);
      this.#shown.set(key, header);
      this.#place(header, layout, section, y, { plays, shift });
    }
    former.forEach(({ element }) => element.remove());
  }

  #place(header, layout, section, y, { plays, shift }) {
    const from = header.y;
    header.y = y;
    header.element.style.transform = `translateY(${y}px)`;
    fill(header.element, layout, section);
    if (!header.element.isConnected) this.#body.append(header.element);
    if (plays && from === undefined) this.#motion.fade(header);
    else if (plays) this.#motion.slide(header, from + shift, false);
  }

  /** Pins the header of the section at an offset; gives that section. */
  pin(layout, top) {
    const section = layout.sectionAt(top);
    const current = layout.sections[section];
    const isOutside = top < (layout.before > 0 ? 0 : 1) || top >= layout.height;
    this.pinned.hidden = !current || layout.header === 0 || isOutside;
    if (!current) return 0;
    fill(this.pinned, layout, section);
    const push = Math.min(0, layout.tops[section + 1] - top - SECTION_HEADER);
    this.pinned.style.transform = `translateY(${push}px)`;
    return section;
  }
}

function fill(element, layout, section) {
  const { name, value, items } = layout.sections[section];
  const text = value === null ? 'NULL' : name === '' ? 'empty' : name;
  const count = `${items.length}${layout.isCut(section) ? '+' : ''}`;
  const signature = `${text}\u0000${count}`;
  if (element.dataset.signature === signature) return;
  element.dataset.signature = signature;
  replace(element, h('span', { class: 'section-name', role: 'rowheader' }, text,
    h('span', { class: 'section-count' }, count)));
}
