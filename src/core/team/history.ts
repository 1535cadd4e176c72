import type { MarkdownLine } from '../../base/markdown.ts';
import {
  dateIn,
  isCode,
  MAX_ENTRIES,
  plainWords,
  type TeamSection,
  teamSections,
  trimmedText,
} from './team-markdown.ts';

export interface HistoryEntry {
  /** Its own heading, or the one it stands under. */
  title: string | null;
  date: string | null;
  text: string;
}

/** What an agent wrote down, as entries in the order of the file, the last ones if there are too many: each section of level three, else each item or paragraph. */
export function readHistory(text: string): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let open: { level: number; entry: HistoryEntry } | null = null;
  for (const section of teamSections(text)) {
    if (open && section.level > open.level) {
      const added = trimmedText([`${'#'.repeat(section.level)} ${section.title}`, ...linesOf(section)]);
      // Added at the end, not joined anew with every part, so that many parts cost no more than as many lines.
      if (added !== '') open.entry.text += open.entry.text === '' ? added : `\n\n${added}`;
      continue;
    }
    open = null;
    const title = plainWords(section.title) || null;
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

/** Items of a list one by one, with what is indented under them; other text by paragraphs. */
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
