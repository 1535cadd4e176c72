export interface Stretch {
  text: string;
  isHit: boolean;
}

/** Splits a text at the search terms so that they can be highlighted. Terms are matched literally, never as a pattern. */
export function highlight(text: string, query: string): Stretch[] {
  const words = searchTerms(query);
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

/** Quoted phrases and single words. The longest comes first, so that it matches before a shorter term it starts with. */
function searchTerms(query: string): string[] {
  const parts = [...query.matchAll(/"([^"]*)"|([^\s"]+)/g)].map(([, phrase, word]) =>
    (phrase ?? word ?? '').trim().replace(/\*+$/, ''),
  );
  return [...new Set(parts)].filter(part => part !== '').sort((one, other) => other.length - one.length);
}

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
