/** Colours, titles, cursor moves and the like, within one line. */
const SEQUENCES = new RegExp(
  [
    '\\u001b\\[[0-?]*[ -/]*[@-~]',
    '\\u001b\\][^\\u0007\\u001b\\n]*(?:\\u0007|\\u001b\\\\)?',
    '\\u001b[PX^_][^\\u001b\\n]*(?:\\u001b\\\\)?',
    '\\u001b[ -/]*[0-~]',
  ].join('|'),
  'g',
);

export const withoutSequences = (text: string): string =>
  text.includes('\u001b') ? text.replace(SEQUENCES, '') : text;

/** A line as a terminal would leave it: what a return went back over is gone. */
export function shownLine(line: string): string {
  const text = withoutSequences(line).replace(/\r+$/, '');
  return text.slice(text.lastIndexOf('\r') + 1);
}
