import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestSquad } from '../../support/squad.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
const RUN = 'run_0';
let run = '';

beforeAll(async () => {
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'coder', 'Say hello']);
  run = runIds[0];
  await squad.run(['wait', run]);
});
afterAll(() => squad[Symbol.asyncDispose]());

/** One line for each command; `RUN` is a run that has completed. */
const COMMANDS = [
  ['run', 'nobody', 'Say hello'],
  ['status'],
  ['watch', RUN],
  ['ls', '--all'],
  ['show', RUN, '--json'],
  ['log', RUN],
  ['attach', RUN],
  ['wait', RUN],
  ['adopt'],
  ['reply', 'run_nothing', 'More'],
  ['tell', 'run_nothing', 'More'],
  ['interrupt', 'run_nothing'],
  ['retry', 'run_nothing'],
  ['cancel', RUN],
  ['diff', RUN],
  ['comment', 'run_nothing', 'README.md:1', 'Why?'],
  ['export', RUN, '-'],
  ['search', '--all', 'hello'],
  ['events', '--run', RUN],
  ['cost'],
  ['conversation', RUN],
  ['inbox'],
  ['answer', 'ask_nothing', 'Yes'],
  ['worktrees'],
  ['machines', 'ls'],
  ['review', RUN],
  ['overlap'],
  ['integrate', RUN],
  ['init'],
  ['roles'],
  ['context', 'coder'],
  ['team'],
  ['decisions'],
  ['backlog'],
  ['trust'],
  ['config', 'list', '--json'],
  ['open', 'nowhere'],
  ['up', '--nothing'],
  ['prune', '--json'],
  ['audit'],
  ['hub', 'status'],
  ['db', 'migrate'],
  ['cluster', 'demo', '--nothing'],
  ['demo', '--nothing'],
  ['install', 'cursor', '--dry-run'],
  ['doctor'],
  ['completion', 'bash'],
  ['mcp', 'ls'],
  ['acp', '--nothing'],
  ['help', 'run'],
];

test('there is a line for each command', async () => {
  const { stdout } = await squad.run(['help']);
  // Examples begin with `squad`.
  const commands = [...stdout.matchAll(/^ {2}(?!squad )([a-z]+)/gm)].map(([, name]) => name);
  expect(COMMANDS.map(([name]) => name).sort()).toEqual(commands.sort());
});

/** In a workspace of its own, because some commands write there. */
async function inFolder(name: string, args: string[], input?: string) {
  const cwd = join(squad.workspace, name);
  mkdirSync(cwd, { recursive: true });
  const given = args.map(word => word.replace(RUN, run));
  const { code, stdout, stderr } = await squad.run(given, { cwd, input });
  return { code, stdout: timeless(stdout), stderr: timeless(stderr) };
}

/** New ids, and times, sizes and numbers that go on; the name of the folder too. */
const timeless = (text: string) => text.replace(/\b(run|squad)_\w+/g, '$1').replace(/\d+(\.\d+)?/g, '0');

async function asProcess(args: string[], input?: string) {
  squad.asProcesses = true;
  const ran = await inFolder('folder-2', args, input);
  squad.asProcesses = false;
  return ran;
}

/** Most tests run commands in a process that has run others before. */
test.each(COMMANDS)('squad %s says the same in a process of its own', async (...args) => {
  expect(await inFolder('folder-1', args)).toEqual(await asProcess(args));
});

test('standard input is the same', async () => {
  const args = ['run', 'coder', '-'];
  const ran = await inFolder('folder-1', args, 'Say hello to standard input\n');
  expect(ran.code).toBe(0);
  expect(ran).toEqual(await asProcess(args, 'Say hello to standard input\n'));
});

test('a variable, a folder and an exit code of one command are not those of the next', async () => {
  const elsewhere = join(squad.root, 'elsewhere');
  const env = { SQUAD_HOME: elsewhere, FORCE_COLOR: '1' };
  await squad.run(['hub', 'start'], { env });
  expect((await squad.run(['ls'], { env, cwd: squad.root })).code).toBe(0);
  expect((await squad.run(['show', 'run_nothing'])).code).not.toBe(0);
  const next = await squad.run(['hub', 'status', '--json']);
  expect([next.code, JSON.parse(next.stdout)]).toMatchObject([0, { running: true, home: squad.home }]);
  await squad.run(['hub', 'stop'], { env });
});
