// The line ends of an edited text: a text area has LF only.

/**
 * The text with the line ends of the stored one: lines before and after those that were edited keep theirs, the
 * others get the one that the stored text has most of.
 */
export function withLineEnds(text, stored) {
  const before = [...stored.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)].map(([, line, end]) => ({ line, end }));
  // At the end of a text the pattern matches once more, with nothing.
  if (before.length > 1 && before.at(-2).end === '') before.pop();
  const lines = text.split('\n');
  const shorter = Math.min(lines.length, before.length);
  let first = 0;
  while (first < shorter && lines[first] === before[first].line) first += 1;
  let last = 0;
  while (last < shorter - first && lines.at(-1 - last) === before.at(-1 - last).line) last += 1;
  const usual = mostOf(before.map(({ end }) => end).filter(Boolean)) ?? '\n';
  return lines.map((line, index) => {
    const rest = lines.length - index;
    const kept = index < first ? before[index].end : rest <= last ? before.at(-rest).end : '';
    return line + (rest === 1 ? '' : kept || usual);
  }).join('');
}

function mostOf(list) {
  const count = (value) => list.filter((each) => each === value).length;
  return ['\n', '\r\n', '\r'].filter((end) => list.includes(end)).sort((a, b) => count(b) - count(a))[0];
}
