import { describe, expect, it } from 'vitest';
import { readBacklog } from './backlog.ts';
import { randomOf, weave } from './testing/random-text.ts';

const PLAIN = { done: false, issue: null, owner: null, priority: null, notes: null };

describe('backlog.md', () => {
  it('has notes as long as anybody cares to write', () => {
    const { groups } = readBacklog(`- [ ] a\n${'  b\n'.repeat(300_000)}`);
    expect(groups[0]!.items[0]!.notes).toHaveLength(599_999);
  });

  it('gives the items under their headings, with what their tags say', { tags: ['B11'] }, () => {
    const text = `# Backlog

An example is no item:

    - [ ] Retry [P1]

## Now

Do these first.

- [ ] **Retry** failed uploads [P1] @ann.lee (#12)
  Three times.

      - [ ] Look at the log

  - [x] Measure it
* [X] (p0) Mail a@b.c about it
1. [ ] Third

## Later
`;
    expect(readBacklog(text)).toEqual({
      groups: [
        {
          title: 'Now',
          text: 'Do these first.',
          items: [
            {
              ...{
                title: 'Retry failed uploads',
                done: false,
                issue: '#12',
                owner: 'ann.lee',
                priority: 'P1',
              },
              notes: 'Three times.',
            },
            { ...PLAIN, title: 'Look at the log' },
            { ...PLAIN, title: 'Measure it', done: true },
            { ...PLAIN, title: 'Mail a@b.c about it', done: true, priority: 'P0' },
            { ...PLAIN, title: 'Third' },
          ],
        },
        { title: 'Later', items: [], text: null },
      ],
      notes: [],
    });
  });

  it('reads an unknown mark as open, and says so', () => {
    const { groups, notes } = readBacklog('- [-] Dropped\n- [ ] (#1)\n');
    expect(groups[0]!.items).toMatchObject([
      { title: 'Dropped', done: false },
      { title: '(#1)', issue: '#1' },
    ]);
    expect(notes).toEqual([expect.stringContaining('"[-]" before "Dropped"')]);
  });

  it('throws at nothing', () => {
    const random = randomOf(5);
    for (let round = 0; round < 400; round++) {
      const text = weave(random);
      expect(() => readBacklog(text)).not.toThrow();
    }
  });

  it('loses no item, whatever stands between', () => {
    const random = randomOf(6);
    const between = [
      '',
      '\n',
      'text\n',
      '  note\n',
      '\n  note\n\n',
      '## G\n',
      '### H\n\n',
      '> q\n',
      '```\n- [ ] no\n```\n',
    ];
    for (let round = 0; round < 200; round++) {
      const titles = Array.from({ length: 1 + random(15) }, (_, at) => `Item ${at}`);
      const text = titles
        .map(title => `${between[random(between.length)]}- [${' x'[random(2)]}] ${title}\n`)
        .join('');
      const found = readBacklog(text).groups.flatMap(({ items }) => items.map(item => item.title));
      expect(found, text).toEqual(titles);
    }
  });
});
