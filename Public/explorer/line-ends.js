// A text area changes all line ends to LF. This restores those of the stored text.

/**
 * Returns `text`, whose lines end with LF, with the line ends of `stored`: the unchanged lines at the start and at
 * the end keep theirs; the lines between get the most frequent line end of `stored`. O(length).
 */
export function withLineEnds(text, stored) {
  const storedLines = [...stored.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)].map(([, line, end]) => ({ line, end }));
  // At the end of a text the pattern matches once more, with nothing.
  if (storedLines.length > 1 && storedLines.at(-2).end === '') storedLines.pop();
  const lines = text.split('\n');
  const shorter = Math.min(lines.length, storedLines.length);
  let prefix = 0;
  while (prefix < shorter && lines[prefix] === storedLines[prefix].line) prefix += 1;
  let suffix = 0;
  while (suffix < shorter - prefix && lines.at(-1 - suffix) === storedLines.at(-1 - suffix).line) suffix += 1;
  const usual = mostFrequentEnd(storedLines.map(({ end }) => end)) ?? '\n';
  return lines.map((line, index) => {
    const rest = lines.length - index;
    const kept = index < prefix ? storedLines[index].end : rest <= suffix ? storedLines.at(-rest).end : '';
    return line + (rest === 1 ? '' : kept || usual);
  }).join('');
}

/** The most frequent of the line ends; undefined if there is none. */
function mostFrequentEnd(ends) {
  const count = (value) => ends.filter((end) => end === value).length;
  return ['\n', '\r\n', '\r'].filter((end) => ends.includes(end)).sort((a, b) => count(b) - count(a))[0];
}
