// Random saves of the sample data, the same for the same seed.

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` saves of one to three changes each of cities around a million people. */
export function saves(seed, count, cities, countries) {
  const next = random(seed);
  const pick = (list) => list[Math.floor(next() * list.length)];
  const population = () => Math.floor(400_000 * 12 ** next());
  const alive = [...cities];
  let names = 0;
  const change = () => {
    const kind = next();
    if (kind < 0.1) {
      names += 1;
      return { insert: 'City', values: { name: `New ${seed}-${names}`, country: pick(countries),
        population: population() } };
    }
    if (kind < 0.2 && alive.length > 10) {
      return { delete: 'City', id: alive.splice(Math.floor(next() * alive.length), 1)[0] };
    }
    if (kind < 0.3) return { update: 'City', id: pick(alive), values: { country: pick(countries) } };
    if (kind < 0.4) return { update: 'City', id: pick(alive), values: { name: `Städt ${next()}` } };
    if (kind < 0.45) return { update: 'Country', id: pick(countries), values: { name: `Land ${next()}` } };
    return { update: 'City', id: pick(alive), values: { population: population() } };
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + Math.floor(next() * 3) }, change));
}
