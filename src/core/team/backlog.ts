import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  isCode,
  MAX_ENTRIES,
  MAX_NOTES,
  type TeamSection,
  teamSections,
  trimmedText,
  withoutMarkup,
} from './team-markdown.ts';

export const BacklogItem = z.object({
  title: z.string(),
  done: z.boolean(),
  /** Issue number, from the tag `(#12)`. */
  issue: z.string().nullable(),
  /** Owner, from the tag `@name`. */
  owner: z.string().nullable(),
  /** Priority, from the tag `[P1]`. */
  priority: z.string().nullable(),
  /** Lines indented under the item. */
  notes: z.string().nullable(),
});
export type BacklogItem = z.infer<typeof BacklogItem>;

/**
 * Key that identifies an item even when the item moves in the file. Runs that were started for the item store the key.
 */
export const backlogKey = ({ title, issue }: Pick<BacklogItem, 'title' | 'issue'>): string =>
  createHash('sha256')
    .update(`${issue ?? ''}\0${title}`)
    .digest('hex')
    .slice(0, 12);

export const BacklogGroup = z.object({
  /** The heading, which is a state such as Next or Later. Null above the first heading. */
  title: z.string().nullable(),
  items: z.array(BacklogItem),
  /** Other text under the heading. */
  text: z.string().nullable(),
});
export type BacklogGroup = z.infer<typeof BacklogGroup>;

export interface Backlog {
  groups: BacklogGroup[];
  notes: string[];
}

/** A group with its position in the file; lines count from 0. */
interface LocatedGroup extends Pick<TeamSection, 'start' | 'end'> {
  group: BacklogGroup;
  /** Line number of each item. */
  itemLines: number[];
}

const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([^\]])\]\s*(.*)$/s;

/** Every item of `backlog.md`, under its heading: `- [ ] Title [P1] @owner (#12)`. */
export function readBacklog(text: string): Backlog {
  const { groups, notes } = locateBacklog(text);
  return { groups: groups.map(({ group }) => group), notes };
}

export function locateBacklog(text: string): { groups: LocatedGroup[]; notes: string[] } {
  const notes: string[] = [];
  const groups: LocatedGroup[] = [];
  let count = 0;
  for (const { level, title, own, start, end } of teamSections(text)) {
    const group: BacklogGroup = { title: withoutMarkup(title) || null, items: [], text: null };
    const itemLines: number[] = [];
    const otherLines: string[] = [];
    let open: { indent: number; item: BacklogItem; notes: string[] } | null = null;
    for (const line of own) {
      const [, indent, mark, content] = (isCode(line) ? null : ITEM.exec(line.text)) ?? [];
      // A line with this indent is an example (a code block in Markdown), unless it is below an item.
      const isExample = open === null && (indent ?? '').replace(/\t/g, '    ').length >= 4;
      if (!isExample && indent !== undefined && mark !== undefined && content !== undefined) {
        addNotes(open);
        const item = itemOf(content, mark);
        if (!/[ xX]/.test(mark) && notes.length < MAX_NOTES)
          notes.push(`"[${mark}]" before "${item.title}" is read as open: a done item has [x].`);
        if (++count <= MAX_ENTRIES) {
          group.items.push(item);
          itemLines.push(line.number);
        }
        open = { indent: indent.length, item, notes: [] };
      } else if (open && (line.text.trim() === '' || indentOf(line.text) > open.indent))
        open.notes.push(line.text);
      else {
        addNotes(open);
        open = null;
        otherLines.push(line.text);
      }
    }
    addNotes(open);
    group.text = trimmedText(otherLines) || null;
    // The title of the file and its introduction do not form a group.
    if ((group.items.length > 0 || level === 2) && groups.length < MAX_ENTRIES)
      groups.push({ group, itemLines, start, end });
  }
  if (count > MAX_ENTRIES)
    notes.push(`backlog.md has ${count} items; only the first ${MAX_ENTRIES} are read.`);
  return { groups, notes };
}

function itemOf(content: string, mark: string): BacklogItem {
  const issue = /\((#\d{1,9})\)/.exec(content)?.[1] ?? null;
  const owner = /(?<![\p{L}\p{N}.])@([\p{L}\p{N}][\p{L}\p{N}_.-]{0,60})/u.exec(content)?.[1] ?? null;
  const priority = /[[(](P[0-9])[\])]/i.exec(content)?.[1]?.toUpperCase() ?? null;
  const rest = content
    .replace(/\(#\d{1,9}\)/, ' ')
    .replace(owner === null ? /$^/ : `@${owner}`, ' ')
    .replace(/[[(]P[0-9][\])]/i, ' ');
  // An item that consists only of tags is still an item.
  const title = withoutMarkup(rest) || withoutMarkup(content) || '(no title)';
  return { title, done: /[xX]/.test(mark), issue, owner, priority, notes: null };
}

function addNotes(open: { item: BacklogItem; notes: string[] } | null): void {
  if (!open) return;
  // A loop instead of Math.min(...indents), because there may be more lines than a call accepts arguments.
  const indent = open.notes.reduce(
    (least, line) => (line.trim() === '' ? least : Math.min(least, indentOf(line))),
    Number.MAX_SAFE_INTEGER,
  );
  open.item.notes = trimmedText(open.notes.map(line => line.slice(indent))) || null;
}

export const indentOf = (line: string): number => line.length - line.trimStart().length;
