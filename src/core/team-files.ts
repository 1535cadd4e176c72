/**
 * How Squad's part of a file that people may edit is told from theirs: all above the mark is theirs and stays as it is,
 * all below is Squad's. A file without the mark is all theirs.
 */
const MARK = '<!-- squad: everything below this line is written by Squad; your own notes are safe above it -->';

const IAC_HEAD = `# Inter-agent log

Every start and end of a run in this workspace, oldest first.

`;
const CONTEXT_HEAD = `# Agents

Who is at work in this workspace, and what was done last.

`;

/** Above it, the oldest entries go. */
export const IAC_MOST_BYTES = 256 * 1024;
/** What is left of them then, so that the file is not written anew with every entry. */
const IAC_KEPT_BYTES = 192 * 1024;
const DROPPED = '- (older entries were dropped)';

/** What `lines` make of the log: text to append to it, or the whole of it anew. */
export function addToLog(file: string | null, lines: readonly string[]): { append: string } | { replace: string } {
  const { above, ours } = split(file, IAC_HEAD);
  const added = lines.map(line => `${line}\n`).join('');
  // A crash may have left half a line.
  const mend = ours === '' || ours.endsWith('\n') ? '' : '\n';
  const log = ours + mend + added;
  const isMarked = file !== null && ours !== '';
  if (isMarked && Buffer.byteLength(log) <= IAC_MOST_BYTES) return { append: mend + added };
  return { replace: above + newest(log) };
}

/** The file with Squad's part of it replaced. */
export function withState(file: string | null, text: string): string {
  const { above } = split(file, CONTEXT_HEAD);
  return `${above}\n${text}\n`;
}
