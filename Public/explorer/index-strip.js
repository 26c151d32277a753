// The letters at the right edge: press or drag to go to a section.

import { h, replace } from './dom.js';

const LETTER = 15;

export class IndexStrip {
  #titles = [];
  #onGo;

  constructor(onGo) {
    this.#onGo = onGo;
    this.element = h('div', {
      class: 'strip', 'aria-hidden': 'true', hidden: true,
      onpointerdown: (event) => this.#press(event),
      onpointermove: (event) => event.buttons === 1 && this.#go(event) });
  }

  /** @param sections in the order shown; neighbours with the same title share a letter. */
  show(sections) {
    const titles = [];
    sections.forEach(({ indexTitle }, section) => {
      if (indexTitle && titles.at(-1)?.title !== indexTitle) titles.push({ title: indexTitle, section });
    });
    const signature = titles.map(({ title, section }) => title + section).join();
    if (signature === this.signature) return;
    this.signature = signature;
    this.#titles = titles;
    this.element.hidden = titles.length < 2;
    this.#draw();
  }

  /** As many letters as there is room for; the others have none. */
  #draw() {
    const room = Math.max(3, Math.floor((this.element.parentElement?.clientHeight - 60) / LETTER));
    const step = Math.max(1, Math.ceil(this.#titles.length / room));
    const letters = this.#titles.filter((_, index) => index % step === 0);
    replace(this.element, letters.map(({ title, section }) =>
      h('span', { dataset: { section } }, title)));
    this.mark(this.marked ?? 0);
  }

  /** Marks the letter of the section at the top. */
  mark(section) {
    this.marked = section;
    const letters = [...this.element.children];
    const current = letters.findLastIndex((letter) => Number(letter.dataset.section) <= section);
    letters.forEach((letter, index) => letter.classList.toggle('is-current', index === current));
  }

  #press(event) {
    this.element.setPointerCapture(event.pointerId);
    event.preventDefault();
    this.#go(event);
  }

  #go({ clientY }) {
    // The letters stand in the middle of the strip.
    const { top } = this.element.firstChild.getBoundingClientRect();
    const { bottom } = this.element.lastChild.getBoundingClientRect();
    const share = Math.max(0, Math.min(0.9999, (clientY - top) / (bottom - top)));
    this.#onGo(this.#titles[Math.floor(share * this.#titles.length)].section);
  }
}
