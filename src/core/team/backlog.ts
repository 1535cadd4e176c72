import type { MarkdownLine } from '../../base/markdown.ts';
import {
  isCode,
  MAX_ENTRIES,
  MAX_NOTES,
  plainWords,
  sectionsOf,
  teamLines,
  trimmedText,
} from './team-markdown.ts';

export interface BacklogItem {
  title: string;
  done: boolean;
  /** `(#12)` */
  issue: string | null;
  /** `@name` */
  owner: string | null;
  /** `[P1]` */
  priority: string | null;
  /** Lines that are indented under it. */
  notes: string | null;
}

export interface BacklogGroup {
  /** The heading: a state such as Next or Later. Null for what stands above the first. */
  title: string | null;
  items: BacklogItem[];
  /** What else is written there. */
  text: string | null;
}

export interface Backlog {
  groups: BacklogGroup[];
  notes: string[];
}

const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([^\]])\]\s*(.*)$/s;

/** Every item of `backlog.md`, under its heading: `- [ ] Title [P1] @owner (#12)`. */
export const readBacklog = (text: string): Backlog => backlogIn(teamLines(text), () => {});

/** The same; each item is told with the line it stands in. */
export function backlogIn(
  lines: readonly MarkdownLine[],
  onItem: (item: BacklogItem, line: MarkdownLine) => void,
): Backlog {
  const notes: string[] = [];
  const groups: BacklogGroup[] = [];
  let count = 0;
  for (const { level, title, own } of sectionsOf(lines)) {
    const group: BacklogGroup = { title: plainWords(title) || null, items: [], text: null };
    const free: string[] = [];
    let item: { indent: number; of: BacklogItem; notes: string[] } | null = null;
    for (const line of own) {
      const [, indent, mark, words] = (isCode(line) ? null : ITEM.exec(line.text)) ?? [];
      // Without an item above it, this deep is code: an example.
      const isExample = item === null && (indent ?? '').replace(/\t/g, '    ').length >= 4;
      if (!isExample && indent !== undefined && mark !== undefined && words !== undefined) {
        keepNotes(item);
        const of = itemOf(words, mark);
        if (!/[ xX]/.test(mark) && notes.length < MAX_NOTES)
          notes.push(`"[${mark}]" before "${of.title}" is read as open: a done one has [x].`);
        if (++count <= MAX_ENTRIES) {
          group.items.push(of);
          onItem(of, line);
        }
        item = { indent: indent.length, of, notes: [] };
      } else if (item && (line.text.trim() === '' || indentOf(line.text) > item.indent))
        item.notes.push(line.text);
      else {
        keepNotes(item);
        item = null;
        free.push(line.text);
      }
    }
    keepNotes(item);
    group.text = trimmedText(free) || null;
    // The title of the file and what introduces it are not a state.
    if ((group.items.length > 0 || level === 2) && groups.length < MAX_ENTRIES) groups.push(group);
  }
  if (count > MAX_ENTRIES) notes.push(`backlog.md has ${count} items: the first ${MAX_ENTRIES} are read.`);
  return { groups, notes };
}

function itemOf(words: string, mark: string): BacklogItem {
  const issue = /\((#\d{1,9})\)/.exec(words)?.[1] ?? null;
  const owner = /(?<![\p{L}\p{N}.])@([\p{L}\p{N}][\p{L}\p{N}_.-]{0,60})/u.exec(words)?.[1] ?? null;
  const priority = /[[(](P[0-9])[\])]/i.exec(words)?.[1]?.toUpperCase() ?? null;
  const rest = words
    .replace(/\(#\d{1,9}\)/, ' ')
    .replace(owner === null ? /$^/ : `@${owner}`, ' ')
    .replace(/[[(]P[0-9][\])]/i, ' ');
  // Nothing but tags is still somebody's item.
  const title = plainWords(rest) || plainWords(words) || '(no title)';
  return { title, done: /[xX]/.test(mark), issue, owner, priority, notes: null };
}

function keepNotes(item: { of: BacklogItem; notes: string[] } | null): void {
  if (!item) return;
  let least = Number.POSITIVE_INFINITY;
  for (const line of item.notes) if (line.trim() !== '') least = Math.min(least, indentOf(line));
  item.of.notes = trimmedText(item.notes.map(line => line.slice(Number.isFinite(least) ? least : 0))) || null;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;
