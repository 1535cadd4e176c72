import type { MarkdownLine } from '../../base/markdown.ts';
import {
  dateIn,
  isCode,
  MAX_ENTRIES,
  type TeamSection,
  teamSections,
  trimmedText,
  withoutMarkup,
} from './team-markdown.ts';

export interface HistoryEntry {
  /** The entry's own heading, or the one above it. */
  title: string | null;
  date: string | null;
  text: string;
}

/**
 * The entries of an agent's history: each section of level three, elsewhere each list item or paragraph. If there are
 * too many, only the last ones.
 */
export function readHistory(text: string): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let open: { level: number; entry: HistoryEntry } | null = null;
  for (const section of teamSections(text)) {
    if (open && section.level > open.level) {
      const added = trimmedText([`${'#'.repeat(section.level)} ${section.title}`, ...linesOf(section)]);
      // The text is appended to a string, because joining all parts each time would take quadratic time.
      if (added !== '') open.entry.text += open.entry.text === '' ? added : `\n\n${added}`;
      continue;
    }
    open = null;
    const title = withoutMarkup(section.title) || null;
    if (section.level < 3 && (title === null || dateIn(title) === null)) {
      for (const block of blocksOf(section.own)) entries.push({ title, date: dateIn(block), text: block });
      continue;
    }
    const body = trimmedText(linesOf(section));
    const entry = { title, date: dateIn(title ?? '') ?? dateIn(body.split('\n', 1)[0] ?? ''), text: body };
    open = { level: section.level, entry };
    entries.push(entry);
  }
  return entries.slice(-MAX_ENTRIES);
}

const linesOf = ({ own }: TeamSection): string[] => own.map(line => line.text);

/** Blocks of text: list items with the lines indented under them, other text by paragraphs. */
function blocksOf(lines: readonly MarkdownLine[]): string[] {
  const blocks: string[][] = [[]];
  for (const line of lines) {
    const isItem = !isCode(line) && /^([-*+]|\d{1,9}[.)])\s+/.test(line.text);
    const isNew =
      isItem || (line.kind === 'blank' && !/^\s*([-*+]|\d{1,9}[.)])\s/.test(blocks.at(-1)![0] ?? ''));
    const followsItem =
      blocks.at(-1)!.at(-1)?.trim() === '' && !/^\s/.test(line.text) && line.kind !== 'blank';
    if (isNew || (followsItem && !isCode(line))) blocks.push([]);
    if (line.kind !== 'blank' || !isNew) blocks.at(-1)!.push(line.text);
  }
  return blocks.map(trimmedText).filter(block => block !== '');
}
