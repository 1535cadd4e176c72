import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { chatUsers } from './chat-users.ts';

const ID = '3f0e6a52-8d1c-4b7a-9e6f-2c4d5e6f7a8b';
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-users-')));
/** A name that no other process of this machine has. */
const PROGRAM = `agent-${process.pid}`;
symlinkSync('/bin/sh', join(folder, PROGRAM));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A process of the CLI that has said `ready`. */
async function cli(
  args: string[] = [],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; file?: string } = {},
) {
  const held = options.file === undefined ? [] : [openSync(options.file, 'a')];
  const child = spawn(join(folder, PROGRAM), ['-c', 'echo ready; read line', 'agent', ...args], {
    ...{ cwd: options.cwd ?? '/', env: options.env ?? {} },
    stdio: ['pipe', 'pipe', 'ignore', ...held],
  });
  children.push(child);
  await new Promise(resolve => child.stdout!.once('data', resolve));
  held.forEach(closeSync);
  return child.pid!;
}

const NO_TRACES = { id: ID, file: null, claimedBy: [], folder: null };
const user = (traces: Partial<Parameters<typeof chatUsers>[1][number]>, platform?: string) =>
  chatUsers([PROGRAM], [{ ...NO_TRACES, ...traces }], platform)[0]?.pid ?? null;

test('a chat is open in the process whose command line names it', { tags: ['G7'] }, async () => {
  expect(user({})).toBeNull();
  const pid = await cli([`--resume=${ID}`]);
  expect(user({})).toBe(pid);
  expect(user({ id: `${ID}0` })).toBeNull();
  expect(user({}, 'darwin')).toBeNull();
  expect(chatUsers(['another'], [NO_TRACES])).toEqual([null]);
});

test('a chat is open in the process that holds its file', { tags: ['G7'] }, async () => {
  const file = join(folder, 'chat.jsonl');
  const pid = await cli([], { file });
  expect(user({ file })).toBe(pid);
  expect(user({ file: `${file}.other` })).toBeNull();
});

test('a claimed process counts only while it is one of that CLI', { tags: ['G7'] }, async () => {
  const pid = await cli();
  expect(user({ claimedBy: [pid] })).toBe(pid);
  expect(user({ claimedBy: [process.pid, 1] })).toBeNull();
});

test('where nothing else shows it, a process in the folder that was there at the last change counts', {
  tags: ['G7'],
}, async () => {
  const pid = await cli([], { cwd: folder });
  expect(user({ folder: { path: folder, changedAt: Date.now() + 1_000 } })).toBe(pid);
  expect(user({ folder: { path: folder, changedAt: Date.now() - 60_000 } })).toBeNull();
  expect(user({ folder: { path: `${folder}/x`, changedAt: Date.now() + 1_000 } })).toBeNull();
});

test('an agent of a run does not count', { tags: ['G7'] }, async () => {
  await cli([ID], { env: { SQUAD_RUN_ID: 'run_x' } });
  expect(user({})).toBeNull();
});
