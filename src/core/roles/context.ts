import { headingLine, type MarkdownLine, readMarkdown, titleOf } from '../../base/markdown.ts';
import { oneLine } from '../../base/text.ts';
import { type ContextHow, digestOf, howOf } from './context-excerpt.ts';

/** The files that are left out, each with the reason. */
export function exclusionReason(
  files: readonly FoundFile[],
  loadedByEngine: readonly string[],
): Map<string, string> {
  const loaded = loadedFiles(files, loadedByEngine);
  const isLast = (found: FoundFile) => (loaded.has(found.file) ? 0 : 1);
  const reasons = new Map<string, string>();
  const wholeFiles = new Map<string, string>();
  // Files that the engine reads come first, so that an identical file is known to be a copy.
  for (const found of [...files].sort((a, b) => isLast(a) - isLast(b))) {
    const { file } = found;
    const twin =
      'text' in found && howOf(file) === 'whole' ? wholeFiles.get(contentOf(found.text)) : undefined;
    const reason = loaded.get(file) ?? ('fault' in found ? `it ${found.fault}` : faultOf(found.text, twin));
    if (reason !== null) reasons.set(file, reason);
    if ('text' in found && twin === undefined && howOf(file) === 'whole')
      wholeFiles.set(contentOf(found.text), file);
  }
  return reasons;
}

function faultOf(text: string, twin: string | undefined): string | null {
  if (text.trim() === '') return 'it is empty';
  return twin === undefined ? null : `it is identical to ${twin}`;
}

function loadedFiles(files: readonly FoundFile[], loadedByEngine: readonly string[]): Map<string, string> {
  const loaded = new Map(loadedByEngine.map(file => [file, 'the engine reads it by itself']));
  const guide = files.find(({ file }) => file === 'CLAUDE.md');
  if (guide && 'text' in guide && loaded.has(guide.file))
    for (const file of importsOf(guide.text))
      if (!loaded.has(file)) loaded.set(file, `the engine reads it by itself: ${guide.file} includes it`);
  return loaded;
}

/** A line `@AGENTS.md` in CLAUDE.md includes that file. */
function importsOf(text: string): string[] {
  return readMarkdown(text)
    .filter(({ kind }) => kind === 'text')
    .flatMap(line => /^@(?:\.\/)?(\S+)$/.exec(line.text.trim())?.[1] ?? []);
}

const contentOf = (text: string): string => text.replace(/\r\n?/g, '\n').trim();

/**
 * As many whole lines as fit. A cut text ends with `notice`, never inside a code block and never with a heading that has
 * nothing below it. Null: not one line of text fits.
 */
function fitLines(
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

/** A file of the workspace with its path from the root, or why it cannot be read. */
export type FoundFile = { file: string; text: string } | { file: string; fault: string };

interface ContextOptions {
  budgetTokens?: number;
  /** Files that the engine reads by itself. If Squad sent them too, they would be paid for twice. */
  loadedByEngine?: readonly string[];
}

interface ContextPart {
  file: string;
  how: ContextHow;
  tokens: number;
  /** Not all of it fitted. */
  cut: boolean;
}

export interface Context {
  text: string;
  tokens: number;
  budgetTokens: number;
  parts: ContextPart[];
  leftOut: { file: string; reason: string }[];
}

export const DEFAULT_CONTEXT_TOKENS = 4_000;

/** Four bytes of UTF-8 count as one token, everywhere in Squad. */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
const BYTES_PER_TOKEN = 4;

/** Shares the budget so that no file crowds out the others: each gets a part by its weight, takes no more than it needs, and the rest is shared among the others. */
export function buildContext(files: readonly FoundFile[], options: ContextOptions = {}): Context {
  const { budgetTokens = DEFAULT_CONTEXT_TOKENS, loadedByEngine = [] } = options;
  const reasons = exclusionReason(files, loadedByEngine);
  const drafts = files.flatMap(found =>
    'text' in found && !reasons.has(found.file) ? [draftOf(found)] : [],
  );

  let bytesLeft = Math.max(0, Math.floor(budgetTokens)) * BYTES_PER_TOKEN;
  let weightLeft = drafts.reduce((sum, { weight }) => sum + weight, 0);
  const fitted = new Map<Draft, { text: string; cut: boolean }>();
  // The smallest need per weight goes first: then every unused share reaches the files that need more.
  for (const draft of [...drafts].sort((a, b) => a.need / a.weight - b.need / b.weight)) {
    const share = Math.floor((bytesLeft * draft.weight) / weightLeft);
    weightLeft -= draft.weight;
    const part = partOf(draft, share - SEPARATOR.length);
    if (part === null) {
      reasons.set(
        draft.file,
        draft.need === 0 ? 'it is empty' : `it does not fit into the budget of ${budgetTokens} tokens`,
      );
      continue;
    }
    fitted.set(draft, part);
    bytesLeft -= Buffer.byteLength(part.text) + SEPARATOR.length;
  }

  // In the order of the files.
  const texts = drafts.flatMap(draft => fitted.get(draft)?.text ?? []);
  const text = texts.join(SEPARATOR);
  return {
    text,
    tokens: tokensOf(text),
    budgetTokens,
    parts: drafts.flatMap(draft => {
      const part = fitted.get(draft);
      return part ? [{ file: draft.file, how: draft.how, tokens: tokensOf(part.text), cut: part.cut }] : [];
    }),
    leftOut: files.flatMap(({ file }) => {
      const reason = reasons.get(file);
      return reason === undefined ? [] : [{ file, reason }];
    }),
  };
}

const SEPARATOR = '\n\n';

interface Draft {
  file: string;
  how: ContextHow;
  lines: MarkdownLine[];
  weight: number;
  /** Size of all of it, in bytes. */
  need: number;
}

/** Rules are meant to be read whole; digests are short already. */
const WEIGHT: Record<ContextHow, number> = { whole: 3, 'current iteration': 2, summary: 1, overview: 1 };

function draftOf({ file, text }: { file: string; text: string }): Draft {
  const { how, lines } = digestOf(file, text);
  const draft: Draft = { file, how, lines: lines.map(lowered), weight: WEIGHT[how], need: 0 };
  return { ...draft, need: Buffer.byteLength(partOf(draft, Number.POSITIVE_INFINITY)?.text ?? '') };
}

/** One level down, below the heading that names the file: no file can open a section of the prompt. */
function lowered(line: MarkdownLine): MarkdownLine {
  return line.kind === 'heading' ? headingLine(Math.min(6, line.level + 1), titleOf(line)) : line;
}

function partOf({ file, how, lines }: Draft, bytes: number): { text: string; cut: boolean } | null {
  const name = oneLine(file, 200);
  const heading = `# Project context: ${name} (${how})\n\n`;
  const fitted = fitLines(
    lines,
    bytes - Buffer.byteLength(heading),
    `[Cut here to fit: the rest is in ${name}]`,
  );
  return fitted && { text: heading + fitted.text, cut: fitted.cut };
}
