import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type FieldName, fieldIn, fieldNamed } from './decision-file.ts';
import {
  dateIn,
  isCode,
  MAX_ENTRIES,
  startsWithDate,
  type TeamSection,
  teamSections,
  trimmedText,
  withoutDate,
  withoutMarkup,
} from './team-markdown.ts';

export const Decision = z.object({
  /**
   * Id of the decision. It stays the same while the heading does, even when the decision moves from the inbox into
   * the file.
   */
  id: z.string(),
  title: z.string(),
  /** Date as it is written in the file. */
  date: z.string().nullable(),
  by: z.string().nullable(),
  what: z.string().nullable(),
  why: z.string().nullable(),
  /** Everything below the heading. */
  text: z.string(),
  /** Path inside `.squad`. */
  file: z.string(),
  /** False if the decision is still in the inbox. */
  merged: z.boolean(),
});
export type Decision = z.infer<typeof Decision>;

export interface DecisionFile {
  /** Path inside `.squad`. */
  file: string;
  text: string;
}

export interface Decisions {
  /** Decisions, newest first. Decisions without a date follow in the order of the files. */
  decisions: Decision[];
  /** Problems of the files, for the people who edit them. */
  notes: string[];
}

type Found = Omit<Decision, 'id'>;

/** The decisions of `decisions.md` and of the inbox; files of the inbox must be given newest first. */
export function readDecisions(main: DecisionFile | null, inbox: readonly DecisionFile[]): Decisions {
  const notes: string[] = [];
  const inMain = main ? entriesIn(main, true) : [];
  const merged = inMain.slice(-MAX_ENTRIES).flatMap(entry => decisionOf(entry, main!.file, true) ?? []);
  if (inMain.length > MAX_ENTRIES)
    notes.push(
      `${main!.file} has ${inMain.length} decisions; only the last ${MAX_ENTRIES} are read. Move old ones into another file.`,
    );
  if (main && merged.length === 0 && hasListItems(main.text))
    notes.push(
      `${main.file} has text but no decision: each begins with a heading of level three, ### Title.`,
    );
  const waiting: Found[] = [];
  for (const file of inbox) {
    const found = entriesIn(file, false).flatMap(entry => decisionOf(entry, file.file, false) ?? []);
    if (found.length === 0) notes.push(`${file.file} is empty.`);
    waiting.push(...found);
    if (waiting.length <= MAX_ENTRIES) continue;
    waiting.length = MAX_ENTRIES;
    notes.push(
      `The inbox has more than ${MAX_ENTRIES} decisions: the others are left out, from ${file.file} on.`,
    );
    break;
  }
  // Ids are numbered from the oldest decision, so that a decision keeps its id when another with the same title is
  // added.
  const named = withIds([...merged, ...waiting.toReversed()]);
  const inInbox = named.splice(merged.length).reverse();
  return { decisions: inOrder([...named, ...inInbox]), notes };
}

interface Entry {
  level: number;
  title: string;
  sections: TeamSection[];
}

function entriesIn({ text }: DecisionFile, merged: boolean): Entry[] {
  const entries: Entry[] = [];
  let current: Entry | null = null;
  for (const section of teamSections(text)) {
    const isBelow: boolean = current !== null && section.level > current.level;
    if (begins(section, isBelow, merged, entries.length === 0)) {
      current = { level: section.level, title: section.title, sections: [section] };
      entries.push(current);
    } else if (isBelow) current?.sections.push(section);
    // A heading that only groups decisions ends the current one.
    else if (section.level > 0) current = null;
  }
  return entries;
}

/**
 * Whether a section begins a decision. A section below a decision belongs to it, unless it has its own author or date.
 */
function begins(section: TeamSection, isBelow: boolean, merged: boolean, isFirst: boolean): boolean {
  const { level, title, own } = section;
  if (level === 0) return !merged && own.some(line => line.text.trim() !== '');
  const isDated = startsWithDate(withoutMarkup(title));
  if (isBelow) return level <= 3 && (isDated || has(section, ['by']));
  if (level >= 3 || isDated || /^decision\b\s*[:\u2013\u2014-]/i.test(withoutMarkup(title))) return true;
  // A file in the inbox is one decision, whatever the level of its heading.
  return (!merged && isFirst) || has(section, ['by', 'what', 'why']);
}

const has = ({ own }: TeamSection, names: readonly FieldName[]): boolean =>
  own.some(line => {
    const name = isCode(line) ? null : fieldIn(line.text)?.name;
    return name ? names.includes(name) : false;
  });

function decisionOf({ title, sections }: Entry, file: string, merged: boolean): Found | null {
  const fields = fieldsOf(sections);
  const text = trimmedText(
    sections.flatMap((section, at) => [
      ...(at > 0 ? [`${'#'.repeat(section.level)} ${section.title}`] : []),
      ...section.own.map(line => line.text),
    ]),
  );
  const heading = withoutMarkup(title);
  const named = withoutDate(heading).replace(/^decision\s*[:\u2013\u2014-]\s*/i, '');
  const date = dateIn(heading) ?? dateIn(fields.date ?? '') ?? (merged ? null : dateIn(nameOf(file)));
  const shown = named || withoutMarkup(text.split('\n', 1)[0] ?? '') || (text === '' ? '' : nameOf(file));
  if (shown === '' && merged) return { ...EMPTY, title: '(no title)', date, text, file, merged };
  if (shown === '') return null;
  return {
    title: cut(shown, MAX_TITLE_LENGTH),
    date,
    by: fields.by ? cut(withoutMarkup(fields.by), MAX_TITLE_LENGTH) || null : null,
    what: fields.what || null,
    why: fields.why || null,
    ...{ text, file, merged },
  };
}

const EMPTY = { by: null, what: null, why: null };
const MAX_TITLE_LENGTH = 300;

/**
 * The text after each field name up to the next one: on its own lines, or as sections. If a name occurs twice, the
 * first counts.
 */
function fieldsOf(sections: readonly TeamSection[]): Partial<Record<FieldName, string>> {
  const taken = new Map<FieldName, string[]>();
  sections.forEach(({ title, own }, at) => {
    let into: string[] | null = at === 0 ? null : open(fieldNamed(title));
    for (const line of own) {
      const field = isCode(line) ? null : fieldIn(line.text);
      if (field) into = open(field.name);
      into?.push(field ? field.value : line.text);
    }
  });
  return Object.fromEntries([...taken].map(([name, lines]) => [name, trimmedText(lines).trim()]));

  function open(name: FieldName | null): string[] | null {
    if (name === null || taken.has(name)) return null;
    const lines: string[] = [];
    taken.set(name, lines);
    return lines;
  }
}

/** Appends a number to ids that occur more than once. */
function withIds(found: readonly Found[]): Decision[] {
  const seen = new Map<string, number>();
  return found.map(each => {
    const id = decisionId(each.title, each.date);
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return { id: count === 1 ? id : `${id}-${count}`, ...each };
  });
}

export function decisionId(title: string, date: string | null): string {
  const hash = createHash('sha256').update(`${date?.slice(0, 10) ?? ''}\n${title.toLowerCase()}`);
  return `d-${hash.digest('hex').slice(0, 8)}`;
}

function inOrder(decisions: Decision[]): Decision[] {
  const momentOf = ({ date }: Decision) => (date === null ? Number.NEGATIVE_INFINITY : Date.parse(date));
  return decisions
    .map(decision => ({ decision, moment: momentOf(decision) }))
    .sort((a, b) => (a.moment === b.moment ? 0 : b.moment - a.moment))
    .map(({ decision }) => decision);
}

const nameOf = (file: string): string => (file.split('/').at(-1) ?? file).replace(/\.md$/i, '');
const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;

/** Headings, quotes and rules also occur in a file without decisions, so only list items count. */
const hasListItems = (text: string): boolean =>
  teamSections(text).some(({ own }) =>
    own.some(({ text: line }) => /^\s{0,3}([-*+]|\d+[.)])\s+\S/.test(line)),
  );
