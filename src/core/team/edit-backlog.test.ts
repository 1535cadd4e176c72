import { describe, expect, it } from 'vitest';
import { readBacklog } from './backlog.ts';
import { type BacklogEdit, editBacklog } from './edit-backlog.ts';
import { randomOf, weave } from './testing/random-text.ts';

const FILE = `# Backlog

## Now

Do these first.

- [ ] Retry uploads [P1] @ann (#12)
  Three times.
  - [ ] Look at the log
- [x] Measure

## Later

`;
const edited = (text: string | null, edit: BacklogEdit) => editBacklog(text, edit).text;
const code = (text: string | null, edit: BacklogEdit) => {
  try {
    editBacklog(text, edit);
    return null;
  } catch (thrown) {
    return (thrown as { code?: string }).code;
  }
};
const items = (text: string) => readBacklog(text).groups.flatMap(group => group.items);

describe('an item is marked', () => {
  it('as done and as open again, and nothing else is touched', () => {
    const done = editBacklog(FILE, { action: 'done', number: 2 });
    expect(done).toMatchObject({ number: 2, item: { title: 'Look at the log', done: true } });
    expect(done.text).toBe(FILE.replace('- [ ] Look', '- [x] Look'));
    expect(edited(done.text, { action: 'reopen', number: 2 })).toBe(FILE);
  });

  it('whatever looks like one in code, comments, heads and other line ends', () => {
    const text =
      '---\r\n- [ ] a\r\n---\r\n# T\r\n\r\n```\r\n- [ ] a\r\n```\r\n<!--\r\n- [ ] a\r\n-->\r\nTitle\r\n---\r\n- [ ] a\r\n- [ ] a';
    expect(edited(text, { action: 'done', number: 2 })).toBe(text.replace(/- \[ \] a$/, '- [x] a'));
    expect(edited(text, { action: 'done', number: 1 })).toBe(
      text.replace(/- \[ \] a\r\n- \[ \] a$/, '- [x] a\r\n- [ ] a'),
    );
  });

  it('only where there is one of that number', () => {
    expect(code(FILE, { action: 'done', number: 4 })).toBe('BACKLOG_ITEM_UNKNOWN');
    expect(code(null, { action: 'done', number: 1 })).toBe('BACKLOG_ITEM_UNKNOWN');
  });
});

describe('an item is added', () => {
  it('after the last of the first heading with something open, in the way of its list', () => {
    const { text, number, item } = editBacklog(FILE, {
      action: 'add',
      title: ' Limits [P2] ',
      owner: '@bob',
    });
    expect(text).toBe(FILE.replace('- [x] Measure\n', '- [x] Measure\n- [ ] Limits [P2] @bob\n'));
    expect({ number, item }).toMatchObject({
      number: 4,
      item: { title: 'Limits', owner: 'bob', priority: 'P2' },
    });
    expect(edited('1. [ ] a', { action: 'add', title: 'b' })).toBe('1. [ ] a\n2. [ ] b\n');
  });

  it('under a heading that is named, also an empty one with words below it', () => {
    expect(edited(FILE, { action: 'add', title: 'x', under: 'later' })).toBe(
      FILE.replace('## Later\n\n', '## Later\n\n- [ ] x\n\n').replace(/\n\n$/, '\n\n'),
    );
    expect(edited('## A\nText.\n\n## B\n- [ ] b\n', { action: 'add', title: 'x', under: 'A' })).toBe(
      '## A\nText.\n\n- [ ] x\n\n## B\n- [ ] b\n',
    );
    expect(code(FILE, { action: 'add', title: 'x', under: 'Never' })).toBe('BACKLOG_ITEM_UNKNOWN');
  });

  it('to a file that is not there yet or holds nothing', () => {
    expect(edited(null, { action: 'add', title: 'x' })).toBe('# Backlog\n\n## Next\n\n- [ ] x\n');
    expect(items(edited('', { action: 'add', title: 'x' }))).toMatchObject([{ title: 'x' }]);
  });

  it('as words on one line', () => {
    for (const title of ['', ' ', 'a\nb', 'a\u001bb'])
      expect(code(FILE, { action: 'add', title })).toBe('INVALID_INPUT');
  });
});

describe('an item is moved', () => {
  it('with its notes and what is below it', () => {
    const { text, number } = editBacklog(FILE, { action: 'move', number: 3, before: 1 });
    expect(number).toBe(1);
    expect(text).toBe(
      FILE.replace('- [x] Measure\n', '').replace('- [ ] Retry', '- [x] Measure\n- [ ] Retry'),
    );
    expect(edited(text, { action: 'down', number: 1 })).toBe(FILE);
    expect(edited(FILE, { action: 'up', number: 3 })).toBe(text);
  });

  it('with the blank lines of a list that has them, and to another heading', () => {
    const loose = '- [ ] a\n\n- [ ] b\n\n- [ ] c';
    expect(edited(loose, { action: 'move', number: 3, before: 1 })).toBe('- [ ] c\n\n- [ ] a\n\n- [ ] b\n');
    expect(edited(`${loose}\n`, { action: 'move', number: 1, before: 3 })).toBe(
      '- [ ] b\n\n- [ ] a\n\n- [ ] c\n',
    );
    expect(edited('## A\n- [ ] a\n## B\n- [ ] b\n', { action: 'move', number: 1, before: 2 })).toBe(
      '## A\n## B\n- [ ] a\n- [ ] b\n',
    );
  });

  it('not into itself, not out of its level, not beyond the ends', () => {
    expect(code(FILE, { action: 'move', number: 1, before: 2 })).toBe('INVALID_INPUT');
    expect(code(FILE, { action: 'move', number: 3, before: 2 })).toBe('INVALID_INPUT');
    expect(code(FILE, { action: 'up', number: 1 })).toBe('INVALID_INPUT');
    expect(code(FILE, { action: 'down', number: 3 })).toBe('INVALID_INPUT');
    expect(code(FILE, { action: 'up', number: 2 })).toBe('INVALID_INPUT');
  });
});

describe('whatever stands in the file', () => {
  it('a change is made whole or refused, and no line is lost', () => {
    const random = randomOf(11);
    const between = [
      '',
      '\n',
      'text\n',
      '  note\n',
      '## G\n',
      '> q\n',
      '```\n- [ ] no\n```\n',
      'T\n---\n',
      '---\n',
    ];
    let made = 0;
    for (let round = 0; round < 600; round++) {
      const text =
        round % 3 === 0
          ? weave(random)
          : Array.from(
              { length: 1 + random(8) },
              (_, at) =>
                `${between[random(between.length)]}${random(3) === 0 ? '  ' : ''}- [${' x'[random(2)]}] i${at}\n`,
            ).join('');
      const count = items(text).length;
      const number = 1 + random(Math.max(1, count));
      const edits: BacklogEdit[] = [
        { action: 'done', number },
        { action: 'up', number },
        { action: 'move', number, before: 1 + random(Math.max(1, count)) },
        { action: 'add', title: 'New one' },
      ];
      for (const edit of edits) {
        const refusal = code(text, edit);
        if (refusal !== null) {
          expect(['INVALID_INPUT', 'BACKLOG_ITEM_UNKNOWN', 'BACKLOG_CHANGED']).toContain(refusal);
          continue;
        }
        made++;
        const after = edited(text, edit);
        const sorted = (all: string) =>
          all
            .split(/\r\n|\n|\r/)
            .filter(line => line.trim() !== '')
            .sort();
        if (edit.action === 'add') expect(sorted(after)).toEqual(expect.arrayContaining(sorted(text)));
        else if (edit.action !== 'done') expect(sorted(after)).toEqual(sorted(text));
        expect(items(after).length - count).toBe(edit.action === 'add' ? 1 : 0);
      }
    }
    expect(made).toBeGreaterThan(600);
  });
});
