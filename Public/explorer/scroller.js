// Scroll positions of a table that may be taller than browsers let an element be.
//
// A position counts the pixels of the whole table. The element is at most TALLEST pixels high: a
// short scroll moves the position by as many pixels, a long one (of the scroll bar) in proportion.

/** Browsers cut elements at 16 to 33 million pixels. */
export const TALLEST = 8_000_000;
/** A scroll by more than so many times what is seen is a long one. */
const LONG = 3;
/** After this many milliseconds without a scroll event it has ended. */
const PAUSE = 150;

export class Scroller {
  #element;
  #body;
  /** The position minus `scrollTop`. */
  #shift = 0;
  /** The pixels of the table beyond the element's height. */
  #excess = 0;
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
    return this.#element.scrollTop + this.#shift;
  }

  set position(wanted) {
    const most = this.#most;
    const whole = most + this.#excess;
    const position = Math.max(0, Math.min(whole, wanted));
    this.#element.scrollTop = whole > 0 ? Math.round(position * most / whole) : 0;
    this.#last = this.#element.scrollTop;
    this.#shift = this.#excess > 0 ? position - this.#last : 0;
  }

  /** Sets the height of the whole table; what is seen stays as far as it exists. */
  resize(height) {
    this.#excess = Math.max(0, height - TALLEST);
    this.#body.style.height = `${height - this.#excess}px`;
    this.#shift = Math.min(this.#shift, this.#excess);
    this.#last = this.#element.scrollTop;
  }

  /** Takes note of a scroll event; call it before reading the position. */
  scrolled() {
    const { scrollTop, clientHeight } = this.#element;
    const isLong = Math.abs(scrollTop - this.#last) > LONG * clientHeight;
    if (isLong && this.#excess > 0) this.#shift = this.#excess * scrollTop / Math.max(1, this.#most);
    this.#last = scrollTop;
    if (this.#excess === 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => { this.position = this.position; }, PAUSE);
  }

  /** The largest `scrollTop`. */
  get #most() {
    return Math.max(0, this.#element.scrollHeight - this.#element.clientHeight);
  }
}
