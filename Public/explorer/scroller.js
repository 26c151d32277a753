// Scroll positions of a table that may be taller than browsers let an element be.
//
// A position counts the pixels of the whole table. The element is at most TALLEST pixels high: a
// short scroll moves the position by as many pixels, a long one (of the scroll bar) in proportion. Near the
// ends of the table both are the same number of pixels from the end.

/** Browsers cut elements at 16 to 33 million pixels. */
export const TALLEST = 8_000_000;
/** A scroll by more than this many heights of the visible part is a long one. */
const LONG = 3;
/** Places within this many heights of the visible part are near an end. */
const NEAR = 2;
/** After this many milliseconds without a scroll event it has ended. */
const PAUSE = 150;

export class Scroller {
  #element;
  #body;
  /** The position minus `scrollTop`. */
  #shift = 0;
  /** The pixels of the table beyond the element's height. */
  #excess = 0;
  /** `scrollTop` as it was last seen. */
  #last = 0;
  #timer;

  /** @param body the element inside `element` whose height is that of the table. */
  constructor(element, body) {
    this.#element = element;
    this.#body = body;
  }

  /** The position of the element's first pixel. */
  get shift() {
    return this.#shift;
  }

  get position() {
    this.#adjust();
    return this.#element.scrollTop + this.#shift;
  }

  set position(wanted) {
    const most = this.#most;
    const whole = most + this.#excess;
    const position = Math.max(0, Math.min(whole, wanted));
    this.#element.scrollTop = Math.round(this.#mapped(position, whole, most));
    this.#last = this.#element.scrollTop;
    this.#shift = this.#excess > 0 ? position - this.#last : 0;
  }

  /** Sets the height of the whole table; the visible rows stay as far as they exist. */
  resize(height) {
    const { position } = this;
    this.#excess = Math.max(0, height - TALLEST);
    this.#body.style.height = `${height - this.#excess}px`;
    const isBeyond = this.#shift > this.#excess;
    this.#shift = Math.min(this.#shift, this.#excess);
    this.#last = this.#element.scrollTop;
    // After rows were added at the end the scroll bar leaves it, so that they can be reached.
    const isStuck = this.#last >= this.#most && position < this.#most + this.#excess;
    if (this.#excess > 0 && (isBeyond || isStuck)) this.position = position;
  }

  /** Call it for every scroll event. */
  scrolled() {
    this.#adjust();
    if (this.#excess === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => { this.position = this.position; }, PAUSE);
  }

  /** Maps a long scroll, also one whose event has not been sent yet: a result may arrive in between. */
  #adjust() {
    const { scrollTop, clientHeight } = this.#element;
    const isLong = Math.abs(scrollTop - this.#last) > LONG * clientHeight;
    const most = this.#most;
    if (isLong && this.#excess > 0) this.#shift = this.#mapped(scrollTop, most, most + this.#excess) - scrollTop;
    this.#last = scrollTop;
  }

  /** A place of a range as the same place of another one. */
  #mapped(place, from, to) {
    const near = Math.min(NEAR * this.#element.clientHeight, from / 4, to / 4);
    if (place <= near) return place;
    if (from - place <= near) return to - (from - place);
    return near + (place - near) * (to - 2 * near) / (from - 2 * near);
  }

  /** The largest `scrollTop`. */
  get #most() {
    return Math.max(0, this.#element.scrollHeight - this.#element.clientHeight);
  }
}
