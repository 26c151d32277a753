// A response's body → server-sent events, as they arrive.
//
// EventSource cannot send an Authorization header or a body, so the format is read here, from a
// stream of fetch(): lines end in LF, CR or CRLF, wherever the network cut the bytes.

/** Takes pieces of text, gives the events that are complete; one that has only an `id` has empty data. */
export class EventParser {
  /** The pieces of the present line; a long one is joined once. */
  #pieces = [];
  #event = { event: 'message', data: [], id: undefined };

  push(text) {
    const events = [];
    if (!/[\r\n]/.test(text) && !this.#pieces.at(-1)?.endsWith('\r')) {
      if (text !== '') this.#pieces.push(text);
      return events;
    }
    const buffer = this.#pieces.join('') + text;
    // A CR at the very end may be the first half of CRLF: wait for what follows.
    const keep = buffer.endsWith('\r') ? 1 : 0;
    const lines = buffer.slice(0, buffer.length - keep).split(/\r\n|\n|\r/);
    this.#pieces = [lines.pop() + buffer.slice(buffer.length - keep)];
    for (const line of lines) {
      if (line === '') this.#dispatch(events);
      else this.#field(line);
    }
    return events;
  }

  #field(line) {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') this.#event.data.push(value);
    else if (name === 'event') this.#event.event = value;
    else if (name === 'id') this.#event.id = value;
  }

  #dispatch(events) {
    const { event, data, id } = this.#event;
    this.#event = { event: 'message', data: [], id: undefined };
    if (data.length > 0 || id !== undefined) events.push({ event, id, data: data.join('\n') });
  }
}

/** Yields `{event, data, id}`; calls `onBytes` for everything that comes, comments as well. */
export async function* events(body, onBytes = () => {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes(value.byteLength);
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
