import { describe, expect, it } from 'vitest';
import type { TextDocument } from '../../core/ports/store.ts';
import { createTextSearch } from './text-search.ts';

const DOCUMENTS: TextDocument[] = [
  {
    id: 'title',
    title: 'Cache in Redis',
    author: 'ann',
    text: 'What: keep sessions there. Why: they are short.',
  },
  {
    id: 'text',
    title: 'Sessions',
    author: 'bob',
    text: 'We looked at the cache twice. Cache, and again cache.',
  },
  {
    id: 'name',
    title: 'Types',
    author: null,
    text: 'noUncheckedIndexedAccess is on in squad_config. 🔴 Résumé.',
  },
  { id: 'cjk', title: '决定使用缓存', author: null, text: '我们决定使用缓存来加快速度' },
];

const fresh = async () => {
  const made = createTextSearch();
  await made.index('here', '1', () => DOCUMENTS);
  return made;
};
const idsOf = async (query: string) => {
  const made = await fresh();
  const found = made.search('here', query, 10);
  made.close();
  return found && { ids: found.hits.map(({ id }) => id), match: found.match, total: found.total };
};

describe('a search', () => {
  it('ranks a word of the title above the same word in the text', { tags: ['B10'] }, async () => {
    expect(await idsOf('cache')).toEqual({ ids: ['title', 'text'], match: 'all', total: 2 });
  });

  it.each([
    ['every word', 'redis sessions', ['title'], 'all'],
    ['words in another form', 'caching', ['title', 'text'], 'all'],
    ['a phrase', '"keep sessions"', ['title'], 'all'],
    ['not words of a phrase apart', '"sessions keep"', [], 'part'],
    ['a beginning', 'noUnch*', ['name'], 'all'],
    ['a name with underscores', 'squad_config', ['name'], 'all'],
    ['a word without its accents', 'resume', ['name'], 'all'],
    ['an author', 'bob', ['text'], 'all'],
    ['some words where none has all', 'redis unicorns', ['title'], 'some'],
    ['a part of a word', 'IndexedAcc', ['name'], 'part'],
    ['a sign', '🔴', ['name'], 'part'],
    ['a script without spaces', '使用缓存来', ['cjk'], 'part'],
    ['words with operators between them', 'redis AND NOT sessions', ['title'], 'all'],
  ])('finds %s', async (_, query, ids, match) => {
    const found = (await idsOf(query))!;
    expect([...found.ids].sort()).toEqual([...ids].sort());
    expect(found.match).toBe(match);
  });

  it('has the words around what it found, on one line', async () => {
    const made = await fresh();
    const [hit] = made.search('here', 'short', 1)!.hits;
    expect(hit!.snippet).toContain('they are short');
    expect(hit!.score).toBeGreaterThan(0);
    made.close();
  });

  it.each(
    [
      ...[
        '"',
        '""',
        '"unclosed',
        "'",
        "'; drop table documents; --",
        '*',
        '**',
        '(',
        ')',
        'NEAR(',
        'NEAR(a b, 3)',
        'title:',
        'title:x',
        '{title text}: x',
      ],
      ...[
        'a AND',
        'OR',
        'NOT',
        '^a',
        '-a',
        '+',
        'a + b',
        '%',
        '_',
        '\\',
        '\0',
        'a\0b',
        '\ud800',
        '\udc00x',
        '🔴🔴',
        '"🔴"*',
        'x"y"z',
        'a*b*',
        '* *',
      ],
      ...[
        'x'.repeat(10_000),
        'word '.repeat(2_000),
        '"'.repeat(10_001),
        '('.repeat(10_000),
        `${'a '.repeat(40)}*`,
        '\n\t\r',
        'null',
        '1 = 1',
        'select * from documents',
      ],
    ].map(query => [query.slice(0, 40), query] as const),
  )('takes anything for words: %j', async (_, query) => {
    const made = await fresh();
    expect(() => made.search('here', query, 10)).not.toThrow();
    expect(made.search('here', 'redis', 10)!.total).toBe(1);
    made.close();
  });

  it('for nothing is nothing to look for, and in a place nobody indexed finds nothing', async () => {
    expect(await idsOf('  ')).toBeNull();
    const made = await fresh();
    expect(made.search('elsewhere', 'cache', 10)).toMatchObject({ hits: [], total: 0 });
    made.close();
  });
});

describe('the index', () => {
  it('is made anew only for another revision', async () => {
    const made = await fresh();
    await made.index('here', '1', () => {
      throw new Error('read again');
    });
    await made.index('here', '2', () => [{ id: 'new', title: 'Redis', author: null, text: '' }]);
    expect(made.search('here', 'redis', 10)!.hits.map(({ id }) => id)).toEqual(['new']);
    made.close();
  });

  it('keeps places apart, and forgets those of long ago', async () => {
    const made = await fresh();
    for (let at = 0; at < 20; at++)
      await made.index(`place ${at}`, '1', () => [
        { id: `in ${at}`, title: 'redis', author: null, text: '' },
      ]);
    expect(made.search('place 19', 'redis', 10)!.hits.map(({ id }) => id)).toEqual(['in 19']);
    expect(made.search('here', 'redis', 10)!.total).toBe(0);
    made.close();
  });

  it('is made in parts, and others have their turn in between', async () => {
    const made = createTextSearch();
    const many = Array.from({ length: 5_000 }, (_, at) => ({ ...DOCUMENTS[0]!, id: String(at) }));
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await made.index('here', '1', () => many).finally(() => (isOver = true));
    expect(turns).toBeGreaterThanOrEqual(20);
    expect(made.search('here', 'redis', 10)).toMatchObject({ total: 5_000 });
    made.close();
  });

  it('is made once, however many ask for it at the same time', async () => {
    const made = createTextSearch();
    let reads = 0;
    const read = () => {
      reads++;
      return DOCUMENTS;
    };
    await Promise.all([1, 2, 3].map(() => made.index('here', '1', read)));
    expect([reads, made.search('here', 'redis', 10)!.total]).toEqual([1, 1]);
    made.close();
  });

  it('holds no more than so much text: what comes after is left out', async () => {
    const made = createTextSearch();
    const large = Array.from({ length: 60 }, (_, at) => ({
      ...{ id: String(at), title: 'large', author: null },
      text: 'x'.repeat(1024 * 1024),
    }));
    await made.index('here', '1', () => large);
    expect(made.search('here', 'large', 10)!.total).toBeLessThan(40);
    made.close();
  });
});
