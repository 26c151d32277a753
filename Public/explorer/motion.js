// Animations of rows when the result changes. They are shorter when changes come quickly.

import { prefersReducedMotion } from './dom.js';

const EASE = 'cubic-bezier(.2, .7, .2, 1)';
const LONGEST = 520;
const SHORTEST = 140;

/** Shortens movements when changes come faster than they can be shown. */
export class Motion {
  #last = 0;
  duration = LONGEST;

  /**
   * Begins a change; false where nothing is to move.
   *
   * @param isNews true for a change of the server: own edits come just before, and do not count.
   */
  begin(isNews) {
    const now = performance.now();
    const pause = now - this.#last;
    if (isNews) this.#last = now;
    this.duration = Math.max(SHORTEST, Math.min(LONGEST, pause * 0.8));
    return !prefersReducedMotion() && document.visibilityState === 'visible';
  }

  /** Moves a row from the place where it was visible to its new place. */
  slide(row, from, isMoved) {
    if (Math.abs(from - row.y) < 1) return;
    const { element } = row;
    element.classList.toggle('is-moving', isMoved);
    const animation = this.#play(element,
      [{ transform: `translateY(${from}px)` }, { transform: `translateY(${row.y}px)` }]);
    row.isSliding?.cancel();
    row.isSliding = animation;
    animation.finished.then(() => {
      row.isSliding = null;
      element.classList.remove('is-moving');
    }, () => {});
  }

  fade(row) {
    this.#play(row.element, [{ opacity: 0 }, { opacity: 1 }]);
  }

  /** A row that is new to the result: coloured where a diff brought it. */
  appear(row, isNews) {
    this.fade(row);
    if (isNews) this.colour(row.element, '--came');
  }

  /** A row that has left: it is taken out of the document when it has faded. */
  leave(row, isNews) {
    const { element } = row;
    element.classList.add('is-leaving');
    element.classList.toggle('is-news', isNews);
    element.removeAttribute('id');
    const x = `translateY(${row.y}px) translateX(14px)`;
    const end = () => element.remove();
    this.#play(element, [{ opacity: 1 }, { opacity: 0, transform: x }]).finished.then(end, end);
  }

  /** Colours something for a while. */
  colour(element, colour) {
    const from = { backgroundColor: `var(${colour})` };
    element.animate([from, { ...from, offset: 0.35 }, { backgroundColor: 'transparent' }],
      { duration: prefersReducedMotion() ? 900 : 1800, easing: 'ease-out' });
  }

  #play(element, frames) {
    return element.animate(frames, { duration: this.duration, easing: EASE });
  }
}
