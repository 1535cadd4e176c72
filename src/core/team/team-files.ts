/**
 * How Squad's part of a file that people may edit is told from theirs: all above the mark is theirs and stays as it is,
 * all below is Squad's. A file without the mark is all theirs.
 */
const MARK =
  '<!-- squad: everything below this line is written by Squad; your own notes are safe above it -->';

const IAC_HEAD = `# Inter-agent log

Every start and end of a run in this workspace, oldest first.

`;
const CONTEXT_HEAD = `# Agents

Who is at work in this workspace, and what was done last.

`;

/** Content of such a file before the first run. */
export const emptyTeamFile = (name: 'IAC.md' | 'CONTEXT.md'): string =>
  `${name === 'IAC.md' ? IAC_HEAD : CONTEXT_HEAD}No agent has run in this workspace yet.\n`;

/** Above it, the oldest entries go. */
export const IAC_MOST_BYTES = 256 * 1024;
/** What is left of them then, so that the file is not written anew with every entry. */
const IAC_KEPT_BYTES = 192 * 1024;
const DROPPED = '- (older entries were dropped)';

/** What new lines make of the log: text to append to it, or the whole of it anew. In all of it one character is one byte. */
export function addToLog(
  file: string | null,
  lines: readonly string[],
): { append: string } | { replace: string } {
  const { above, ours, isMarked } = split(file, IAC_HEAD);
  // A crash may have left half a line.
  const mend = ours === '' || ours.endsWith('\n') ? '' : '\n';
  const added = mend + lines.map(line => `${line}\n`).join('');
  const isShort = ours.length + added.length <= IAC_MOST_BYTES;
  if (isMarked && isShort) return { append: added };
  return { replace: above + (isShort ? ours + added : newest(ours + added)) };
}

/** The file with Squad's part of it replaced. */
export function withState(file: string | null, text: string): string {
  return `${split(file, CONTEXT_HEAD).above}\n${text}\n`;
}

function split(file: string | null, head: string): { above: string; ours: string; isMarked: boolean } {
  if (file === null || file.trim() === '') return { above: `${head}${MARK}\n`, ours: '', isMarked: false };
  const at = file.indexOf(MARK);
  const lineEnd = at < 0 ? -1 : file.indexOf('\n', at);
  if (lineEnd >= 0)
    return { above: file.slice(0, lineEnd + 1), ours: file.slice(lineEnd + 1), isMarked: true };
  const theirs = at < 0 ? file : file.slice(0, at);
  const gap = theirs === '' || theirs.endsWith('\n') ? '' : '\n';
  return { above: `${theirs}${gap}${at < 0 ? '\n' : ''}${MARK}\n`, ours: '', isMarked: false };
}

/** The last lines that fit, and one that says that others went. */
function newest(log: string): string {
  const lines = log.replace(/[\r\n]+$/, '').split('\n');
  let first = lines.length;
  let bytes = 0;
  while (first > 0) {
    bytes += lines[first - 1]!.length + 1;
    if (bytes > IAC_KEPT_BYTES) break;
    first--;
  }
  return `${[DROPPED, ...lines.slice(first)].join('\n')}\n`;
}
