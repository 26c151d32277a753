// Metrics of a live result: the bytes of diffs, the estimated cost of refetching, the latency of saves.

/** Keeps the last few diffs and the sums of all. */
export class Traffic {
  /** Newest first: `{diff, bytes, at, latency}`. */
  diffs = [];
  diffBytes = 0;
  refetch = 0;
  count = 0;
  latencies = [];
  #perItem = 0;
  #sent = new Map();

  static kept = 40;

  snapshot(count, bytes) {
    this.#perItem = count > 0 ? bytes / count : 0;
    this.snapshotBytes = bytes;
  }

  /** Counts a diff; a client that refetches would have had the whole snapshot again. */
  diff(diff, bytes, count) {
    this.refetch += Math.max(bytes, this.#perItem * count);
    this.count += 1;
    this.diffBytes += bytes;
    const entry = { diff, bytes, at: new Date() };
    this.diffs = [entry, ...this.diffs].slice(0, Traffic.kept);
    return entry;
  }

  /** A save was sent at a time of `performance.now()`, answered with a token. */
  saved(token, sentAt) {
    this.#sent.set(token, sentAt);
    if (this.#sent.size > 50) this.#sent.delete(this.#sent.keys().next().value);
    for (const entry of this.diffs) if (entry.paintedAt) this.painted(entry, entry.paintedAt);
  }

  /** A diff is on the screen: the saves that it ends with were seen. */
  painted(entry, time) {
    entry.paintedAt = time;
    const sentAt = this.#sent.get(entry.diff.to);
    if (sentAt === undefined) return;
    this.#sent.delete(entry.diff.to);
    entry.latency = time - sentAt;
    this.latencies = [...this.latencies, entry.latency].slice(-60);
  }

  get median() {
    const sorted = [...this.latencies].sort((a, b) => a - b);
    return sorted.length > 0 ? sorted[sorted.length >> 1] : undefined;
  }
}
