import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { askHub } from '../../support/ask-hub.ts';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
afterAll(() => squad[Symbol.asyncDispose]());
const FILE = '## Now\n\n- [ ] Retry [P1]\n  Three times.\n- [ ] Limits\n\n## Later\n';
beforeEach(() => {
  squad.write('.squad/backlog.md', FILE);
});
const text = () => readFileSync(join(squad.workspace, '.squad/backlog.md'), 'utf8');

test('items are numbered, marked, added and moved in a terminal, and the file is changed as by hand', async () => {
  expect((await squad.run(['backlog'])).stdout).toMatch(/Now 2 of 2 open\n +1 ○ Retry P1 …\n +2 ○ Limits\n/);
  expect((await squad.run(['backlog', 'done', '2'])).stdout).toBe('Done: 2 Limits\n');
  expect((await squad.run(['backlog', 'add', 'Ship it', '--owner', 'ann', '--under', 'later'])).stdout).toBe(
    'Added as item 3 Ship it\n',
  );
  expect((await squad.run(['backlog', 'move', '3', '--before', '1'])).stdout).toBe('Now item 1 Ship it\n');
  expect(await squad.json(['backlog', 'move', '1', '--down'])).toEqual({ number: 2, title: 'Ship it' });
  expect(text()).toBe(
    '## Now\n\n- [ ] Retry [P1]\n  Three times.\n- [ ] Ship it @ann\n- [x] Limits\n\n## Later\n\n',
  );
  expect((await squad.run(['backlog', 'reopen', '3'])).stdout).toBe('Open again: 3 Limits\n');
});

test('an impossible change is refused, and the file is as it was', async () => {
  for (const [args, code, words] of [
    [['done', '9'], 2, 'has no item 9'],
    [['done', 'two'], 2, 'whole number'],
    [['move', '1'], 2, 'Expected one of --before M'],
    [['move', '1', '--up'], 2, 'first'],
    [['add', 'a', '--owner', 'a b'], 2, 'owner'],
    [['add', ' '], 2, 'one line'],
  ] as const) {
    const ran = await squad.run(['backlog', ...args]);
    expect([args, ran.code, ran.stderr]).toEqual([args, code, expect.stringContaining(words)]);
  }
  expect(text()).toBe(FILE);
});

test('a change to what somebody saw is refused when it is something else by now', async () => {
  const { revision } = await askHub<{ revision: string }>(squad, 'list_backlog');
  squad.write('.squad/backlog.md', `- [ ] First\n${FILE}`);
  const change = askHub(squad, 'edit_backlog', { action: 'done', number: 1, revision });
  await expect(change).rejects.toMatchObject({ code: 'BACKLOG_CHANGED' });
  expect(text()).toBe(`- [ ] First\n${FILE}`);
});
