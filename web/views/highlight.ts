export interface Stretch {
  text: string;
  isHit: boolean;
}

/** A text cut where a search's words are, so that they can be shown as such. The words are words, never a pattern. */
export function highlight(text: string, query: string): Stretch[] {
  const words = wordsOf(query);
  if (words.length === 0) return text === '' ? [] : [{ text, isHit: false }];
  const pattern = new RegExp(words.map(escaped).join('|'), 'giu');
  const stretches: Stretch[] = [];
  let last = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (index > last) stretches.push({ text: text.slice(last, index), isHit: false });
    stretches.push({ text: found, isHit: true });
    last = index + found.length;
  }
  if (last < text.length) stretches.push({ text: text.slice(last), isHit: false });
  return stretches;
}

/** Phrases as they are, the rest word by word; the longest first, so that it wins over its own beginning. */
function wordsOf(query: string): string[] {
  const parts = [...query.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, phrase, word]) =>
    (phrase ?? word ?? '').trim().replace(/\*+$/, ''),
  );
  return [...new Set(parts)].filter(part => part !== '').sort((one, other) => other.length - one.length);
}

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
