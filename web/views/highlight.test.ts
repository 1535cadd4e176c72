import { describe, expect, it } from 'vitest';
import { highlight } from './highlight.ts';

const hits = (text: string, query: string) =>
  highlight(text, query)
    .filter(({ isHit }) => isHit)
    .map(stretch => stretch.text);

describe('highlight', () => {
  it('marks each word, whatever its case, and loses no text', () => {
    const text = 'Use Postgres, not sqlite; postgres it is';
    expect(hits(text, 'postgres SQLite')).toEqual(['Postgres', 'sqlite', 'postgres']);
    expect(
      highlight(text, 'postgres')
        .map(stretch => stretch.text)
        .join(''),
    ).toBe(text);
  });

  it('takes a phrase as one and a star for a beginning', () => {
    expect(hits('a b c b', '"b c"')).toEqual(['b c']);
    expect(hits('authentic auth', 'auth*')).toEqual(['auth', 'auth']);
  });

  it('takes what looks like a pattern for words', () => {
    expect(hits('a.*b (x) axxb', '.*')).toEqual(['.']);
    expect(hits('a(b', '(')).toEqual(['(']);
    expect(hits('[a-z]+$ ^', '[a-z]+$ ^')).toEqual(['[a-z]+$', '^']);
  });

  it('marks nothing for an empty search', () => {
    expect(highlight('text', '  "" * ')).toEqual([{ text: 'text', isHit: false }]);
    expect(highlight('', '')).toEqual([]);
  });
});
