import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

/** A Codex that counts from the beginning of the chat, as the real one does, and records the chat; the count is in a file. */
const squad = new TestSquad({ STATE_MODE: 'stateful' });
squad.env.CODEX_HOME = join(squad.root, 'codex');
const sessions = join(squad.env.CODEX_HOME, 'sessions/1970/01/01');
const recordOf = (thread: string) => join(sessions, `rollout-1970-01-01T00-00-00-${thread}.jsonl`);
const count = join(squad.root, 'count');
let client: Client;

beforeAll(async () => {
  mkdirSync(sessions, { recursive: true });
  // With rules it only reads its prompt.
  mkdirSync(join(squad.env.CODEX_HOME!, 'rules'));
  writeFileSync(join(squad.env.CODEX_HOME!, 'rules', 'default.rules'), '');
  squad.script(
    'bin/codex',
    `if [ "$1" = --version ]; then echo "codex-cli 0.166.0"; exit 0; fi
prompt=$(cat)
thread=$(cat ${squad.workspace}/thread)
echo '{"type":"thread.started","thread_id":"'$thread'"}'
echo '{}' >> ${recordOf('$thread')}
case "$prompt" in *BLOCK*) while [ ! -e ${squad.workspace}/go ]; do sleep 0.05; done;; esac
n=$(cat ${count})
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":'$n',"cached_input_tokens":0,"output_tokens":'$n'}}'`,
  );
  squad.env.PATH = `${join(squad.workspace, 'bin')}:${squad.env.PATH}`;
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
  client = await squad.client();
});
afterAll(() => squad[Symbol.asyncDispose]());

interface Result {
  spawn_id: string;
  status: string;
  chat_id?: string;
  tokens: { input: number | null } | null;
  usage_source: string;
  note?: string;
  error?: { code: string };
}

const thread = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Resumes `chatId`; its engine reports the chat id `says` and `total` tokens so far. */
function spawn(total: number, says: string, more: Record<string, unknown> = {}): Promise<Result> {
  writeFileSync(count, String(total));
  squad.write('thread', says);
  const args = { engine: 'codex', model: 'gpt-5', include_context: false, prompt: 'x', ...more };
  return callTool<Result & Record<string, unknown>>(client, 'spawn_agent', args);
}

const untilRunning = (id: string) =>
  until('it is running', async () => (await squad.statusOf(id)) === 'running');
const cancel = (id: string) => callTool(client, 'cancel_run', { spawn_id: id });

describe('usage of a run, of an engine that counts from the beginning of the chat', () => {
  test('is what it added, also after a reply that was cancelled before it began', async () => {
    const chatId = thread(1);
    expect((await spawn(1000, chatId)).tokens).toMatchObject({ input: 1000 });
    expect((await spawn(1100, chatId, { chatId })).tokens).toMatchObject({ input: 100 });
    await squad.json(['config', 'set', 'limits.concurrency', '1']);
    const other = await spawn(1100, thread(2), { prompt: 'BLOCK', async: true });
    const queued = await spawn(1100, thread(2), { chatId, async: true });
    expect(queued.status).toBe('queued');
    await cancel(queued.spawn_id);
    await cancel(other.spawn_id);
    await squad.json(['config', 'unset', 'limits.concurrency']);
    expect((await spawn(1200, chatId, { chatId })).tokens).toMatchObject({ input: 100 });
  });

  test('is not known for a chat that Squad never saw, and the result says why; from then on it is', async () => {
    const chatId = thread(3);
    const first = await spawn(5000, chatId, { chatId });
    expect(first).toMatchObject({ status: 'completed', tokens: null, cost_usd: null, usage_source: 'none' });
    expect(first.note).toContain('counts from the beginning of the chat');
    const second = await spawn(5050, chatId, { chatId });
    expect(second.tokens).toMatchObject({ input: 50 });
    expect(second.note).toBeUndefined();
  });

  test('is not known for a chat that was used outside Squad in between, and known again after that', {
    tags: ['C8'],
  }, async () => {
    const chatId = thread(6);
    expect((await spawn(1000, chatId)).tokens).toMatchObject({ input: 1000 });
    appendFileSync(recordOf(chatId), '{}\n');
    const next = await spawn(6100, chatId, { chatId });
    expect(next).toMatchObject({ status: 'completed', tokens: null, cost_usd: null, usage_source: 'none' });
    expect(next.note).toContain('used outside Squad since the last turn');
    expect((await spawn(6150, chatId, { chatId })).tokens).toMatchObject({ input: 50 });
  });

  test('stays unknown for such a chat when the hub dies during the turn', async () => {
    const chatId = thread(7);
    await spawn(1000, chatId);
    appendFileSync(recordOf(chatId), '{}\n');
    rmSync(join(squad.workspace, 'go'), { force: true });
    const run = await spawn(6100, chatId, { chatId, prompt: 'BLOCK', async: true });
    await untilRunning(run.spawn_id);
    const hub = await squad.hubPid();
    process.kill(hub, 'SIGKILL');
    await until('the hub is gone', () => !isAlive(hub));
    await squad.hubPid();
    squad.write('go', '');
    const ended = await callTool(client, 'get_result', { spawn_id: run.spawn_id, wait_seconds: 90 });
    expect(ended).toMatchObject({ status: 'completed', tokens: null, usage_source: 'none' });
  });
});

test('a chat that was asked for is kept from others, also when the engine says it is another', async () => {
  const [asked, said] = [thread(4), thread(5)];
  await spawn(10, asked);
  rmSync(join(squad.workspace, 'go'), { force: true });
  const run = await spawn(20, said, { chatId: asked, prompt: 'BLOCK', async: true });
  await untilRunning(run.spawn_id);
  await until('its engine has named the other', async () => {
    const shown = await squad.json<{ run: { chatId: string } }>(['show', run.spawn_id]);
    return shown.run.chatId === said;
  });
  for (const chatId of [asked, said])
    expect(await spawn(20, said, { chatId })).toMatchObject({ isError: true, error: { code: 'CHAT_BUSY' } });
  squad.write('go', '');
  const ended = await callTool(client, 'get_result', { spawn_id: run.spawn_id, wait_seconds: 90 });
  expect(ended).toMatchObject({ status: 'completed', chat_id: said });
  // Both are free again, and a reply resumes the chat that was named last.
  expect(await spawn(30, said, { chatId: said })).toMatchObject({ tokens: { input: 10 } });
  expect(await spawn(40, asked, { chatId: asked })).toMatchObject({ tokens: { input: 30 } });
});
