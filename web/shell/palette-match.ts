export interface Entry {
  /** Id of the entry, unique in the list. */
  id: string;
  group: string;
  label: string;
  /** Text that is shown next to the label, and also searched. */
  hint?: string;
  key?: string;
  run(): void;
}

/**
 * Entries that contain every typed word. An entry that starts with the typed text comes first in its group, and its group
 * before the others, so that the best match is always the first entry.
 */
export function matching(entries: readonly Entry[], typed: string, mostOfGroup: number): Entry[] {
  const words = searchTerms(typed);
  const found = entries.filter(({ group, label, hint = '' }) => {
    const text = `${group} ${label} ${hint}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const isFirst = (entry: Entry) => words.length > 0 && begins(entry, words);
  const groups = [...Map.groupBy(found, ({ group }) => group).values()].map(group =>
    group.toSorted((a, b) => Number(isFirst(b)) - Number(isFirst(a))),
  );
  return groups
    .toSorted((a, b) => Number(isFirst(b[0]!)) - Number(isFirst(a[0]!)))
    .flatMap(group => group.slice(0, mostOfGroup));
}

/** True when the words of the label start with the typed words, in order. Punctuation is ignored. */
function begins({ label }: Entry, words: string[]): boolean {
  const own = searchTerms(label.replace(/[^\p{L}\p{N}\s_-]+/gu, ' '));
  return words.every((word, at) => own[at]?.startsWith(word));
}

const searchTerms = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

const ACTION = /^(cancel|retry|approve|send back)\b/i;

/** Splits the typed text into an action at its start, if there is one, and the words that name a run. */
export function actionIn(typed: string): { isAction: boolean; rest: string } {
  const text = typed.trim();
  return { isAction: ACTION.test(text), rest: text.replace(ACTION, '').trim() };
}
