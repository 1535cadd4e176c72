/** `squad adopt` with an agent CLI that keeps chats as Claude Code does, and says how it was started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { displayWidth } from '../../../src/cli/terminal/width.ts';
import type { Output } from '../../../src/operations/operations.ts';
import { installClaude, saveChat } from '../../support/saved-chat.ts';
import { Screen } from '../../support/screen.ts';
import { TestSquad, until } from '../../support/squad.ts';

const squad = new TestSquad();
const home = squad.env.HOME!;
let claude: string;
const chat = (id: string, prompt: string, more?: Parameters<typeof saveChat>[3]) =>
  saveChat(squad, id, prompt, more);

const CLAUDE = `case "$*" in --version) echo "2.1.325 (Claude Code)"; exit;; esac
read -r prompt
case "$prompt" in *WAIT*) touch waits; while [ ! -e release ]; do sleep 0.05; done;; esac
case "$*" in *--session-id*) id=$(echo "$*" | sed 's/.*--session-id \\([^ ]*\\).*/\\1/');; *) id=$(echo "$*" | sed 's/.*--resume \\([^ ]*\\).*/\\1/');; esac
case "$prompt" in *"You code."*) role=yes;; *) role=no;; esac
echo '{"type":"system","subtype":"init","session_id":"'"$id"'"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"'"$id"'","result":"'"role=$role in=$(pwd) $(echo "$*" | tr -d '"{}')"'"}'
`;

beforeAll(async () => {
  claude = installClaude(squad, CLAUDE);
  squad.write('agents/coder.md', 'You code.');
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

const PLUMS = '11111111-1111-4111-8111-111111111111';
const PEARS = '22222222-2222-4222-8222-222222222222';
const list = (...args: string[]) => squad.json<Output<'list_chats'>>(['adopt', ...args]);
const refused = async (...args: string[]) =>
  (await squad.json<{ error: { code: string; message: string; suggestions: string[] } }>(['adopt', ...args]))
    .error;
const adopt = async (...args: string[]) => {
  const { runIds } = await squad.json<{ runIds: [string] }>(['adopt', '-d', ...args]);
  await squad.run(['wait', runIds[0]]);
  const { run, result } = await squad.shown<Output<'show_run'>>(runIds[0]);
  return { run, text: result.result };
};

test('chats of this folder are listed, newest first, in lines that fit the screen', {
  tags: ['G7'],
}, async () => {
  expect(await list()).toMatchObject({ folder: squad.workspace, chats: [], notes: [] });
  expect((await squad.run(['adopt'])).stdout).toContain('No agent CLI keeps a chat');
  chat(PLUMS, 'Remember plums.');
  chat(PEARS, `Pears \u001b[2J\u202e ${'and more '.repeat(50)}`, { at: Date.now() - 30_000 });
  chat('33333333-3333-4333-8333-333333333333', 'Elsewhere', { cwd: home });
  expect((await list()).chats).toMatchObject([
    { engine: 'claude', id: PEARS, short: '22222222', openIn: null, run: null },
    { engine: 'claude', id: PLUMS, short: '11111111', title: 'Remember plums.' },
  ]);
  expect(await list('-n', '1')).toMatchObject({ chats: [{ id: PEARS }], more: 1 });
  const screen = Screen.open(squad, ['adopt'], { columns: 60 });
  try {
    const { bytes } = await screen.ended();
    expect(bytes).toContain('Remember pl');
    expect(bytes).not.toContain('\u001b[2J');
    expect(bytes).not.toContain('\u202e');
    for (const line of bytes.split('\r\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(60);
  } finally {
    screen.close();
  }
});

test('the beginning of an id is enough, and the run continues that chat in this folder', {
  tags: ['G7'],
}, async () => {
  chat(PLUMS, 'Remember plums.');
  const { run, text } = await adopt('1111', 'What was it?');
  expect(run).toMatchObject({ status: 'completed', chatId: PLUMS, chatIsNew: false, engine: 'claude' });
  expect(text).toContain(`--resume ${PLUMS}`);
  expect(text).toContain(`role=no in=${squad.workspace} `);
  expect((await list()).chats.find(({ id }) => id === PLUMS)).toMatchObject({ run: run.id });
});

test('a role, a model and a permission apply to the continued chat', { tags: ['G7'] }, async () => {
  chat(PLUMS, 'Remember plums.');
  const { run, text } = await adopt(
    ...[PLUMS, 'What was it?', '--role', 'coder', '--model', 'opus', '--permission', 'read', '--budget', '2'],
  );
  expect(run).toMatchObject({ roleId: 'coder', options: { permission: 'read', budgetUsd: 2 } });
  expect(text).toContain('role=yes');
  expect(text).toContain('--model=opus');
});

test('a fork begins a chat of its own, and is not listed as one of the user', { tags: ['G7'] }, async () => {
  chat(PLUMS, 'Remember plums.');
  const { run, text } = await adopt('--fork', PLUMS, 'What was it?');
  expect(run).toMatchObject({ status: 'completed', chatIsNew: true });
  expect(run.chatId).not.toBe(PLUMS);
  expect(text).toContain(`--session-id ${run.chatId} --resume ${PLUMS} --fork-session`);
  chat(run.chatId!, 'The fork');
  expect((await list()).chats.map(({ id }) => id)).not.toContain(run.chatId);
  expect((await list()).ofRuns).toBe(1);
  expect((await list('--all')).chats.map(({ id }) => id)).toContain(run.chatId);
  const [reply] = (await squad.json<{ runIds: string[] }>(['reply', '-d', run.id, 'More'])).runIds;
  await squad.run(['wait', reply!]);
  expect((await squad.shown<Output<'show_run'>>(reply!)).result.result).toContain(`--resume ${run.chatId}`);
  const [again] = (await squad.json<{ runIds: string[] }>(['retry', '-d', run.id])).runIds;
  await squad.run(['wait', again!]);
  expect((await squad.shown<Output<'show_run'>>(again!)).result.result).toContain(
    `--resume ${PLUMS} --fork-session`,
  );
});

test('what cannot be adopted is refused, and nothing is started', { tags: ['G7'] }, async () => {
  chat(PLUMS, 'Remember plums.');
  chat('11111111-2222-4222-8222-222222222222', 'Cherries');
  const before = (await squad.json<{ runs: unknown[] }>(['ls'])).runs.length;
  expect(await refused('99', 'x')).toMatchObject({ code: 'CHAT_UNKNOWN' });
  expect(await refused('1111', 'x')).toMatchObject({
    code: 'INVALID_INPUT',
    message: '2 chats begin with 1111',
  });
  expect(await refused(PLUMS)).toMatchObject({ code: 'INVALID_INPUT' });
  expect(await refused(PLUMS, '  ')).toMatchObject({ code: 'TASK_EMPTY' });
  expect(await refused(PLUMS, 'x', '--role', 'nobody')).toMatchObject({ code: 'ROLE_UNKNOWN' });
  const sandboxed = await refused(PLUMS, 'x', '--sandbox', 'workspace');
  expect(sandboxed).toMatchObject({
    code: 'SANDBOX_UNAVAILABLE',
    message: expect.stringContaining('began outside'),
  });
  expect(await refused('--fork', PLUMS, 'x', '--sandbox', 'strict')).toMatchObject({
    code: 'SANDBOX_UNAVAILABLE',
  });
  expect((await squad.json<{ runs: unknown[] }>(['ls'])).runs).toHaveLength(before);
});

test('a chat that another process has open is refused by name, and can be forked', {
  tags: ['G7'],
}, async () => {
  const file = chat(PEARS, 'Remember pears.');
  const other = spawn(claude, ['--resume', PEARS], { cwd: home, env: { PATH: squad.env.PATH } });
  try {
    await until('it is listed as open', async () =>
      (await list()).chats.some(({ openIn }) => openIn?.pid === other.pid),
    );
    expect((await squad.run(['adopt'])).stdout).toContain(`open in ${other.pid}`);
    expect(await refused(PEARS, 'x')).toMatchObject({
      code: 'CHAT_BUSY',
      message: expect.stringMatching(`open elsewhere: in process ${other.pid} .*claude --resume`),
      suggestions: expect.arrayContaining([expect.stringContaining('--fork')]),
    });
    expect((await adopt('--fork', PEARS, 'What was it?')).run.status).toBe('completed');
  } finally {
    await ended(other);
  }
  expect(existsSync(file)).toBe(true);
  expect((await adopt(PEARS, 'What was it?')).run.status).toBe('completed');
});

test('a chat that a run uses, or whose file changes, is refused', { tags: ['G7'] }, async () => {
  const file = chat(PEARS, 'Remember pears.');
  const [run] = (await squad.json<{ runIds: string[] }>(['adopt', '-d', PEARS, 'WAIT'])).runIds;
  expect(await refused(PEARS, 'x')).toMatchObject({
    code: 'CHAT_BUSY',
    message: expect.stringContaining(run!),
  });
  squad.write('release', '');
  await squad.run(['wait', run!]);
  const writer = setInterval(() => appendFileSync(file, '{}\n'), 100);
  try {
    await until(
      'it has changed',
      async () => Number((await list()).chats[0]?.changedAt) > Date.now() - 2_000,
    );
    expect(await refused(PEARS, 'x')).toMatchObject({
      message: expect.stringContaining('its file is changing'),
    });
  } finally {
    clearInterval(writer);
  }
  // Somebody who has just closed the chat can adopt it.
  expect((await adopt(PEARS, 'What was it?')).run.status).toBe('completed');
});

test('a chat that was opened while its run waited for a slot is not continued', {
  tags: ['G7'],
}, async () => {
  chat(PEARS, 'Remember pears.');
  chat(PLUMS, 'Remember plums.');
  await squad.set('limits.concurrency', '1');
  rmSync(join(squad.workspace, 'release'), { force: true });
  const [first] = (await squad.json<{ runIds: [string] }>(['adopt', '-d', PLUMS, 'WAIT'])).runIds;
  const [queued] = (await squad.json<{ runIds: [string] }>(['adopt', '-d', PEARS, 'x'])).runIds;
  const other = spawn(claude, ['--resume', PEARS], { cwd: home, env: { PATH: squad.env.PATH } });
  try {
    await until('it is open', async () =>
      (await list()).chats.some(({ openIn }) => openIn?.pid === other.pid),
    );
    squad.write('release', '');
    await squad.run(['wait', first!, queued!]);
    expect((await squad.shown<Output<'show_run'>>(queued!)).run).toMatchObject({
      status: 'error',
      error: { code: 'CHAT_BUSY', message: expect.stringContaining(`in process ${other.pid}`) },
    });
  } finally {
    await ended(other);
    await squad.set('limits.concurrency', '8');
  }
});

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise(resolve => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}
