import { headingLine, type MarkdownLine, titleOf } from '../../base/markdown-lines.ts';
import { oneLine } from '../../base/one-line.ts';
import { type ContextHow, digestOf } from './context-digest.ts';
import { whyLeftOut } from './context-left-out.ts';
import { fitLines } from './fit-lines.ts';

/** A file of the workspace, by its path from the root, or why it cannot be read. */
export type FoundFile = { file: string; text: string } | { file: string; fault: string };

export interface ContextOptions {
  budgetTokens?: number;
  /** Files that the engine reads by itself: sent by us too, they would be paid for twice. */
  loadedByEngine?: readonly string[];
}

export interface ContextPart {
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

/**
 * Shares the budget so that no file crowds out the others: each is due a part by its weight, takes no more than it needs, and
 * what it does not need is shared among the rest.
 */
export function buildContext(files: readonly FoundFile[], options: ContextOptions = {}): Context {
  const { budgetTokens = DEFAULT_CONTEXT_TOKENS, loadedByEngine = [] } = options;
  const reasons = whyLeftOut(files, loadedByEngine);
  const drafts = files.flatMap(found =>
    'text' in found && !reasons.has(found.file) ? [draftOf(found)] : [],
  );

  let bytesLeft = Math.max(0, Math.floor(budgetTokens)) * BYTES_PER_TOKEN;
  let weightLeft = drafts.reduce((sum, { weight }) => sum + weight, 0);
  const fitted = new Map<Draft, { text: string; cut: boolean }>();
  // Who needs least for its weight goes first: then every share that is not used up reaches those that are short.
  for (const draft of [...drafts].sort((a, b) => a.need / a.weight - b.need / b.weight)) {
    const share = Math.floor((bytesLeft * draft.weight) / weightLeft);
    weightLeft -= draft.weight;
    const part = partOf(draft, share - SEPARATOR.length);
    if (part === null) {
      reasons.set(
        draft.file,
        draft.need === 0
          ? 'it has no text'
          : `there is no room for it in the budget of ${budgetTokens} tokens`,
      );
      continue;
    }
    fitted.set(draft, part);
    bytesLeft -= Buffer.byteLength(part.text) + SEPARATOR.length;
  }

  // In the order of the files, whoever was served first.
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
  /** Bytes of all of it. */
  need: number;
}

/** Rules are meant to be read whole, digests are short already. */
const WEIGHT: Record<ContextHow, number> = { whole: 3, 'current iteration': 2, summary: 1, overview: 1 };

function draftOf({ file, text }: { file: string; text: string }): Draft {
  const { how, lines } = digestOf(file, text);
  const draft: Draft = { file, how, lines: lines.map(lowered), weight: WEIGHT[how], need: 0 };
  return { ...draft, need: Buffer.byteLength(partOf(draft, Number.POSITIVE_INFINITY)?.text ?? '') };
}

/** One level down, under the heading that names the file: no file can open a part of the prompt of its own. */
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
