import { basename } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { GitSquad, script } from '../../support/git-squad.ts';
import { Screen } from '../../support/screen.ts';

const squad = new GitSquad({ coder: '---\ndescription: Codes\nisolation: worktree\n---\nYou code.' });
const TASK = 'Retry uploads that failed';
let run: string;
let screen: Screen | null = null;

beforeAll(async () => {
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '300']);
  const task = `${TASK}${script('write new.txt', '| one', 'report done')}`;
  const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', 'coder', task]);
  run = runIds[0]!;
  await squad.run(['wait', run]);
});
afterEach(() => {
  screen?.close();
  screen = null;
});
afterAll(() => squad[Symbol.asyncDispose]());

test.each([
  { args: ['ls'], columns: 80, shown: [TASK], left: ['engine', 'took'] },
  { args: ['ls', '--all'], columns: 80, shown: [TASK.slice(0, 16), 'workspace'], left: ['engine'] },
  { args: ['ls', '--need', '--all'], columns: 120, shown: [TASK, 'workspace', 'engine', 'took'], left: [] },
])('squad $args at $columns columns has room for the task', async ({ args, columns, shown, left }) => {
  screen = Screen.open(squad, args, { columns });
  await screen.ended();
  const text = screen.lines().join('\n');
  for (const part of shown) expect(text).toContain(part);
  for (const part of left) expect(text).not.toContain(part);
  if (args.includes('--all')) expect(text).toContain(basename(squad.workspace));
});

test.each([
  { pager: "sed 's/^/paged: /'", line: 'paged: +one' },
  { pager: 'no-such-pager', line: '+one' },
  { pager: 'cat', line: '+one' },
])('squad diff on a terminal goes through $pager', async ({ pager, line }) => {
  screen = Screen.open(squad, ['diff', run], { env: { PAGER: pager } });
  const { code } = await screen.ended();
  expect(code).toBe(0);
  expect(screen.lines()).toContain(line);
});

test('Ctrl-C twice leaves nothing of the live block behind', async () => {
  // The first Ctrl-C alone would end the run only after this.
  await squad.set('stop.grace_ms', '60000');
  screen = Screen.open(squad, ['run', 'coder', `Wait${script('deafen', 'say waiting', 'hang')}`]);
  await screen.shows('running 1');
  screen.press('C-c');
  await screen.shows('Stopping the agents');
  screen.press('C-c');
  const { code } = await screen.ended();
  expect(code).toBe(130);
  expect(screen.lines().filter(line => /^ running \d|^ [◐◓◑◒] /.test(line))).toEqual([]);
});
