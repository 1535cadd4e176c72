/** Longer "sentences" are tables or lists; whoever shows them cuts them anyway. */
const LOOKED_AT = 2_000;

/** The first sentence of somebody's Markdown: headings, fences and list marks are passed over. Empty: it says nothing. */
export function firstSentence(markdown: string): string {
  const lines = markdown.slice(0, LOOKED_AT).split(/\r?\n/).map(withoutMarks);
  const prose = lines.findIndex(({ kind }) => kind === 'prose');
  if (prose < 0) return lines.find(({ text }) => text !== '')?.text ?? '';
  const end = lines.findIndex(({ kind }, at) => at > prose && kind !== 'prose');
  const paragraph = lines
    .slice(prose, end < 0 ? undefined : end)
    .map(({ text }) => text)
    .join(' ');
  return SENTENCE.exec(paragraph)?.[0] ?? paragraph;
}

/** Up to the first full stop that ends a sentence: not the one of "e.g." or "3.5". */
const SENTENCE = /^.+?(?:(?<!\b(?:e\.g|i\.e|vs|etc|cf|approx))[.!?…]["')\]]*(?=\s|$)|[。！？])/s;

function withoutMarks(line: string): { kind: 'prose' | 'heading' | 'none'; text: string } {
  const heading = /^\s*#{1,6}\s+(.*)$/.exec(line)?.[1];
  if (heading !== undefined) return { kind: 'heading', text: heading.trim() };
  if (/^\s*(```|~~~|[-*_=]{3,}\s*$)/.test(line)) return { kind: 'none', text: '' };
  const text = line.replace(/^\s*(?:>\s*)*(?:[-*+]\s+|\d+[.)]\s+)?/, '').trim();
  return { kind: text === '' ? 'none' : 'prose', text };
}
