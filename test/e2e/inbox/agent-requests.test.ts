/** Agents that read lines while they work and do what no agent should: a program of ours speaks the Agent Client Protocol. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InboxItem } from '../../../src/schema/inbox.ts';
import type { Run } from '../../../src/schema/run.ts';
import { TestSquad, until } from '../../support/squad.ts';

/** The prompt names what the agent does. Everything it reads is in `heard`. */
const AGENT = `
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const says = text => send({ method: 'session/update', params: { update: { sessionUpdate: 'agent_message_chunk', content: { text } } } });
const done = id => (says('Done.'), send({ id, result: { stopReason: 'end_turn' } }));
const options = [{ optionId: 'y', kind: 'allow_once' }, { optionId: 'n', kind: 'reject_once' }];
const wants = (id, title) => send({ id, method: 'session/request_permission', params: { options, toolCall: { toolCallId: 'c' + id, kind: 'execute', title } } });
const heard = [];
let act = '', prompt = '';
const ACTS = {
  asks: () => wants(0, 'job'),
  again: () => { wants(0, 'job'); wants(0, 'job'); },
  changed: () => { wants(0, 'harmless'); wants(0, 'harmful'); },
  flood: () => { for (let id = 0; id < 2_000; id++) send({ id, method: 'fs/read_text_file', params: {} }); },
  many: () => { for (let id = 0; id < 25; id++) wants(id, 'job ' + id); },
  long: () => wants(0, 'x'.repeat(10 * 1024 * 1024)),
  garbage: () => { process.stdout.write('no json\\n[]\\n{"id":\\n\\u0000\\n'); done(prompt); },
  ends: () => { wants(0, 'job'); setInterval(() => { if (existsSync('end')) process.exit(3); }, 10); },
  deaf: () => { says('Never again.\\n'); process.stdin.destroy(); setInterval(() => {}, 60_000); },
};
const EXPECTED = { flood: 2_000, many: 25 };
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: 1 } });
  else if (method === 'session/new') send({ id, result: { sessionId: 's' } });
  else if (method === 'session/load') { says('Of an earlier turn.'); send({ id, result: {} }); }
  else if (method === 'session/prompt') {
    prompt = id;
    act = /act: (\\w+)/.exec(params.prompt[0].text)[1];
    ACTS[act]();
  } else if (method === undefined) {
    heard.push(result?.outcome?.optionId ?? result?.outcome?.outcome ?? error?.code);
    if (heard.length === (EXPECTED[act] ?? 1)) { says(heard.length > 30 ? String(new Set(heard).size) : heard.join()); done(prompt); }
  }
});
`;

/** Never reads its input, and prints nothing. */
const MUTE = 'setInterval(() => {}, 60_000)';

const squad = new TestSquad({ ENGINE_COMMAND: 'fake' });
beforeAll(async () => {
  const roles = join(squad.root, 'roles');
  squad.env.SQUAD_AGENTS_DIR = roles;
  mkdirSync(roles);
  writeFileSync(join(roles, 'asker.md'), '---\npermission: read\napprovals: ask\n---\nYou ask.');
  writeFileSync(
    join(roles, 'hurried.md'),
    '---\npermission: read\napprovals: ask\ntimeout: 4s\n---\nYou ask.',
  );
  const file = join(squad.root, 'agent.mjs');
  writeFileSync(file, AGENT);
  const engines = { fake: { acp: [process.execPath, file] }, mute: { acp: [process.execPath, '-e', MUTE] } };
  squad.write('.squad/squad.json', JSON.stringify({ engines }));
  expect(await squad.run(['trust', '-y'])).toMatchObject({ code: 0 });
  await squad.unlimited();
});
afterAll(() => squad[Symbol.asyncDispose]());

async function started(act: string, role = 'asker', engine = 'fake'): Promise<string> {
  const args = ['run', '-d', '--engine', engine, role, `act: ${act}`];
  return (await squad.json<{ runIds: [string] }>(args)).runIds[0];
}
async function ended(id: string) {
  await squad.run(['wait', id]);
  return squad.json<{ run: Run; result: { status: string; result: string } }>(['show', id]);
}
const itemsOf = async (id: string, ...more: string[]) =>
  (await squad.json<{ items: InboxItem[] }>(['inbox', ...more])).items.filter(item => item.runId === id);
const asked = (id: string, count = 1) =>
  until('it asks', async () => {
    const items = await itemsOf(id);
    return items.length >= count && items;
  });
const answer = (item: InboxItem, said: string) => squad.run(['answer', item.id, said]);
const sent = (id: string) => readFileSync(join(squad.home, 'runs', id, 'turn-1', 'input'), 'utf8');

test('a request with the same id twice is one item with one answer', async () => {
  const id = await started('again');
  const [item] = await asked(id);
  expect((await answer(item!, 'yes')).code).toBe(0);
  expect((await ended(id)).result).toMatchObject({ status: 'completed', result: 'yDone.' });
  expect(await itemsOf(id, '--all')).toHaveLength(1);
});

test('a request that changes while the user is asked is refused, and nobody can allow it any more', async () => {
  const id = await started('changed');
  expect((await ended(id)).result).toMatchObject({ status: 'completed', result: 'nDone.' });
  const items = await itemsOf(id, '--all');
  for (const item of items) expect((await answer(item, 'yes')).code).not.toBe(0);
});

test('two answers at once: one counts, the other is refused', async () => {
  const id = await started('asks');
  const [item] = await asked(id);
  const codes = (await Promise.all([answer(item!, 'yes'), answer(item!, 'no')])).map(
    ({ code }) => code === 0,
  );
  expect(codes.toSorted()).toEqual([false, true]);
  expect((await ended(id)).result.result).toBe(codes[0] ? 'yDone.' : 'nDone.');
  expect(sent(id).match(/"optionId"/g)).toHaveLength(1);
});

test('an answer after the deadline is refused; the agent has its no', async () => {
  const id = await started('asks', 'hurried');
  const [item] = await asked(id);
  expect((await ended(id)).result).toMatchObject({ status: 'completed', result: 'nDone.' });
  const { code, stderr } = await answer(item!, 'yes');
  expect(code).not.toBe(0);
  expect(stderr).toContain('was not answered in time');
});

test('a message waits for the next turn, which continues the same session', async () => {
  const id = await started('asks');
  const [item] = await asked(id);
  const told = await squad.json<{ delivery: string }>(['tell', id, 'act: garbage']);
  expect(told.delivery).toBe('queued');
  await answer(item!, 'yes');
  const { run, result } = await ended(id);
  expect(run).toMatchObject({ status: 'completed', turn: 2, chatId: 's' });
  expect(result.result).toBe('Done.');
});

test('a flood of requests that Squad does not know is answered, each once', async () => {
  const id = await started('flood');
  expect((await ended(id)).result).toMatchObject({ status: 'completed', result: '1Done.' });
  expect(sent(id).match(/-32601/g)).toHaveLength(2_000);
});

test('more requests than a person can have open are refused, the others are asked', async () => {
  const id = await started('many');
  const items = await asked(id, 20);
  for (const item of items) await answer(item, 'yes');
  const { result } = await ended(id);
  expect(result.result.replace('Done.', '').split(',').toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => 'n'),
    ...Array.from({ length: 20 }, () => 'y'),
  ]);
});

test('a request of 10 MB is refused, and lines that are no messages change nothing', async () => {
  expect((await ended(await started('long'))).result).toMatchObject({
    ...{ status: 'completed', result: 'cancelledDone.' },
  });
  expect((await ended(await started('garbage'))).result).toMatchObject({
    ...{ status: 'completed', result: 'Done.' },
  });
});

test('an agent that ends with a request open has failed, and its item is withdrawn', async () => {
  const id = await started('ends');
  await asked(id);
  squad.write('end', '');
  expect((await ended(id)).run.status).toBe('error');
  expect(await itemsOf(id, '--all')).toMatchObject([{ state: 'withdrawn' }]);
});

test('an agent that reads nothing any more can be cancelled, and leaves no process', async () => {
  const id = await started('deaf');
  await until('it works', async () => (await squad.run(['log', id])).stdout.includes('Never again'));
  expect((await squad.run(['tell', id, '--interrupt', 'x'.repeat(200_000)])).code).toBe(0);
  expect((await squad.run(['cancel', id])).code).toBe(0);
  expect((await ended(id)).run.status).toBe('cancelled');
});

test('an agent that never reads its input holds nobody up, and ends at its deadline', async () => {
  const id = await started(`asks ${'x'.repeat(100_000)}`, 'hurried', 'mute');
  const told = await squad.run(['tell', id, 'Hurry.']);
  expect(told.stdout + told.stderr).toMatch(/queued|has ended/);
  const { run } = await ended(id);
  expect(run.status).toBe('timeout');
});
