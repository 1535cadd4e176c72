import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { ShownItem } from '../../../src/operations/inbox/inbox.ts';
import { type Build, newerBuild } from '../../support/newer-build.ts';
import { RunningAgent } from '../../support/running-agent.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

/** Questions that wait while the hub ends in order: nobody takes its end for an answer. */
const newer: Build = newerBuild('99.0.0');
afterAll(() => newer[Symbol.dispose]());

let squad: TestSquad;
beforeEach(() => {
  squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
  mkdirSync(squad.env.SQUAD_AGENTS_DIR);
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'coder.md'), 'You code.');
  writeFileSync(join(squad.env.SQUAD_AGENTS_DIR, 'careful.md'), '---\napprovals: ask\n---\nYou ask first.');
  return () => squad[Symbol.asyncDispose]();
});

interface Told {
  status: string;
  id: string;
  answer: string | null;
}

const ASK = 'Work.\n```script\nask "Delete the table?" yes no\nsay went on\n```';

async function startAsking(): Promise<ShownItem> {
  await squad.json(['run', '-d', 'coder', ASK]);
  return asked();
}

const asked = () =>
  until('it asks', async () => (await squad.json<{ items: ShownItem[] }>(['inbox'])).items[0]);

async function stopHub(): Promise<void> {
  const pid = await squad.hubPid();
  expect(await squad.run(['hub', 'stop'])).toMatchObject({ code: 0 });
  expect(isAlive(pid)).toBe(false);
}

async function answerIsHeard({ id, runId }: ShownItem): Promise<void> {
  expect(await asked()).toMatchObject({ id, runId, state: 'open', run: { status: 'running' } });
  expect(await squad.run(['answer', id, 'no'])).toMatchObject({ code: 0 });
  const client = await squad.client();
  const ended = await callTool<{ status: string; result: string }>(client, 'get_result', {
    spawn_id: runId,
    wait_seconds: 90,
  });
  expect(ended).toMatchObject({ status: 'completed' });
  expect(ended.result).toContain('The answer is: no');
  expect((await squad.json<{ items: ShownItem[] }>(['inbox', '--all'])).items).toHaveLength(1);
}

test('a hub that is stopped leaves the question open, and its agent asks the next one', {
  tags: ['F4'],
}, async () => {
  const item = await startAsking();
  expect((await squad.run(['inbox'])).stdout).toContain('or --decline   default: continue without an answer');
  await stopHub();
  await answerIsHeard(item);
});

test('a newer hub does not wait for an answer, and the agent asks it', async () => {
  const item = await startAsking();
  const pid = await squad.hubPid();
  await squad.json(['hub', 'start'], { bin: newer.bin });
  await until('the newer hub is there', async () => {
    const { version } = await squad.json<{ version?: string }>(['hub', 'start'], { bin: newer.bin });
    return version === newer.version;
  });
  expect(isAlive(pid)).toBe(false);
  await answerIsHeard(item);
});

test.each([true, false])(
  'a client at the port gets the status waiting, and can wait again (modern: %s)',
  async modern => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const call = callTool<Told>(await agent.overHttp(modern), 'ask_user', { question: 'May I?' });
    const { id } = await asked();
    await stopHub();
    expect(await call).toMatchObject({ status: 'waiting', id });
    const again = callTool<Told>(await agent.overHttp(modern), 'ask_user', { id });
    expect(await squad.run(['answer', id, 'you may'])).toMatchObject({ code: 0 });
    expect(await again).toMatchObject({ status: 'answered', answer: 'you may' });
  },
);

test.each(['stopped', 'killed'])(
  'a client at a relay does not see that the hub is %s: it waits, or gets the status waiting',
  async how => {
    await using agent = await RunningAgent.start(squad, 'coder');
    const relay = await agent.overRelay();
    const call = callTool<Told>(relay, 'ask_user', { question: 'May I?' });
    const { id } = await asked();
    if (how === 'stopped') await stopHub();
    else process.kill(await squad.hubPid(), 'SIGKILL');
    const told = how === 'stopped' ? await call : null;
    if (told) expect(told).toMatchObject({ status: 'waiting', id });
    const waiting = told ? callTool<Told>(relay, 'ask_user', { id }) : call;
    await until('it can be answered', async () => (await squad.run(['answer', id, 'you may'])).code === 0);
    expect(await waiting).toMatchObject({ status: 'answered', answer: 'you may' });
  },
);

test('an engine that waits for leave is neither given it nor refused, and asks again', async () => {
  await using agent = await RunningAgent.start(squad, 'careful');
  const use = { tool_name: 'Bash', input: { command: 'rm -r data' }, tool_use_id: 'use-1' };
  const broken = (await agent.overHttp(true)).callTool({ name: 'ask_permission', arguments: use });
  broken.catch(() => {}); // looked at below
  const { id } = await asked();
  await stopHub();
  await expect(broken).rejects.not.toMatchObject({ message: expect.stringContaining('stopping') });
  const again = (await agent.overHttp(true)).callTool({ name: 'ask_permission', arguments: use });
  expect(await asked()).toMatchObject({ id, state: 'open' });
  expect(await squad.run(['answer', id, 'yes'])).toMatchObject({ code: 0 });
  expect((await again).content).toMatchObject([{ text: expect.stringContaining('"allow"') }]);
});
