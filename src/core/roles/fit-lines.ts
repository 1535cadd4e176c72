import type { MarkdownLine } from '../../base/markdown-lines.ts';

/**
 * As many whole lines as fit into so many bytes. What was cut ends with `notice`, never within a block of code and never
 * with a heading that has nothing under it. Null when not one line of text fits.
 */
export function fitLines(
  source: readonly MarkdownLine[],
  bytes: number,
  notice: string,
): { text: string; cut: boolean } | null {
  const lines = withoutBlankEnds(source);
  if (lines.length === 0) return null;
  if (sizeOf(lines) <= bytes) return { text: lines.map(({ text }) => text).join('\n'), cut: false };

  const room = bytes - Buffer.byteLength(`\n\n${notice}`);
  let used = 0;
  let count = 0;
  for (const [at, line] of lines.entries()) {
    used += Buffer.byteLength(line.text) + (at > 0 ? 1 : 0);
    if (used > room) break;
    const closing = line.closing === null ? 0 : Buffer.byteLength(`\n${line.closing}`);
    if (used + closing <= room && mayBeLast(line)) count = at + 1;
  }
  const last = lines[count - 1];
  if (!last) return null;
  const kept = lines.slice(0, count).map(({ text }) => text);
  if (last.closing !== null) kept.push(last.closing);
  return { text: `${kept.join('\n')}\n\n${notice}`, cut: true };
}

const mayBeLast = ({ kind }: MarkdownLine): boolean => kind === 'text' || kind === 'code' || kind === 'head';

const sizeOf = (lines: readonly MarkdownLine[]): number =>
  lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, -1);

function withoutBlankEnds(lines: readonly MarkdownLine[]): readonly MarkdownLine[] {
  const isSomething = ({ text }: MarkdownLine) => text.trim() !== '';
  const first = lines.findIndex(isSomething);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isSomething) + 1);
}
