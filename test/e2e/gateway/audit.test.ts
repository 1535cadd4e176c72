import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/core/ports/gateway.ts';
import { AuditLog } from '../../../src/gateway/audit/audit-log.ts';
import type { AuditRecord, AuditVerdict } from '../../../src/schema/audit.ts';
import type { RunId } from '../../../src/schema/ids.ts';
import { type Agent, requestOf, startAgents } from '../../attacks/agents.ts';
import { configure } from '../../attacks/config-file.ts';
import { Recorded } from '../../attacks/recorded.ts';
import { TestSquad, until } from '../../support/squad.ts';

const ENTRY: AuditEntry = {
  runId: 'run_0000000001' as RunId,
  roleId: 'coder',
  workspace: '/some/where',
  server: 'files',
  kind: 'tool',
  name: 'read_file',
  decision: 'allowed',
  outcome: 'ok',
  durationMs: 12.4,
};

/** As a hub that is gone left it. */
async function leaveLog(squad: TestSquad, entries: AuditEntry[]): Promise<string> {
  const folder = join(squad.home, 'audit');
  const log = new AuditLog({
    folder,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    warn: () => {},
  });
  for (const entry of entries) log.append(entry);
  await log.close();
  return join(folder, 'audit.jsonl');
}

const namesOf = ({ entries }: { entries: AuditRecord[] }) => entries.map(entry => entry.name);

test('before anything was asked there is nothing to show, and nothing is broken', async () => {
  await using squad = new TestSquad();
  expect(await squad.run(['audit'])).toMatchObject({ code: 0, stdout: 'The audit log is empty.\n' });
  expect(await squad.run(['audit', 'verify'])).toMatchObject({
    code: 0,
    stdout: 'The audit log is empty.\n',
  });
});

test('the log is shown as a table, and can be narrowed down', async () => {
  await using squad = new TestSquad();
  await leaveLog(squad, [
    ENTRY,
    { ...ENTRY, name: 'rm\u001b[2J\nforged', decision: 'denied', outcome: 'unknown', durationMs: undefined },
    { ...ENTRY, roleId: null, subagent: 'summarize', name: 'read_page' },
    { ...ENTRY, runId: 'run_0000000002' as RunId, name: 'write_file' },
  ]);
  const { code, stdout } = await squad.run(['audit'], { env: { COLUMNS: '200' } });
  expect(code).toBe(0);
  const [head, ...rows] = stdout.trimEnd().split('\n');
  expect(head).toMatch(/^when +run +role +decision +kind +what +outcome +took$/);
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatch(/ run_0000000001 +coder +allowed +tool +files\/read_file +ok +12ms$/);
  expect(rows[1]).toMatch(/ denied +tool +files\/rm␛\[2J forged +unknown +–$/);
  expect(rows[2]).toMatch(/ run_0000000001 +summarize +allowed +tool +files\/read_page /);

  const all = await squad.json<{ entries: AuditRecord[]; unreadable: number }>(['audit']);
  expect(all.entries.map(entry => entry.seq)).toEqual([1, 2, 3, 4]);
  expect(all.entries[0]).toMatchObject(ENTRY);
  expect(namesOf(await squad.json(['audit', '--denied']))).toEqual(['rm\u001b[2J\nforged']);
  expect(namesOf(await squad.json(['audit', '--run', 'run_0000000002']))).toEqual(['write_file']);
  expect(namesOf(await squad.json(['audit', '--limit', '1']))).toEqual(['write_file']);
  expect(await squad.json(['audit', '--run', 'nobody'])).toMatchObject({ error: { code: 'RUN_UNKNOWN' } });
  expect((await squad.run(['audit', '--limit', '0'])).code).toBe(2);
});

test('verifying says so when the log is whole, and where it is not', async () => {
  await using squad = new TestSquad();
  const file = await leaveLog(squad, [ENTRY, { ...ENTRY, decision: 'denied' }, ENTRY]);
  const whole = await squad.json<AuditVerdict>(['audit', 'verify']);
  expect(whole).toEqual({
    problem: null,
    entries: 3,
    files: 1,
    lastHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const said = await squad.run(['audit', 'verify']);
  expect(said).toMatchObject({
    code: 0,
    stdout: `in order: 3 entries in one file\nlast hash ${whole.lastHash}\n`,
  });

  writeFileSync(file, readFileSync(file, 'utf8').replace('"denied"', '"allowed"'));
  const broken = await squad.run(['audit', 'verify']);
  expect(broken.code).toBe(1);
  expect(broken.stdout).toContain(`broken: edited at line 2 of ${file}, where entry 2 should be\n`);
  expect((await squad.run(['audit', 'verify', '--json'])).code).toBe(1);
  expect(await squad.json<AuditVerdict>(['audit', 'verify'])).toMatchObject({
    problem: { file, line: 2, seq: 2, what: 'edited' },
    entries: 1,
  });
});

describe('calls that a server does not answer', () => {
  const squad = new TestSquad({ ENGINE_COMMAND: 'scripted' });
  const recorded = new Recorded(squad.root, 'mute', {
    tools: [{ name: 'take', description: 'Takes it.', inputSchema: { type: 'object' } }],
    holds: true,
  });
  const file = join(squad.home, 'audit', 'audit.jsonl');
  const lines = (outcome: string) =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '').split('\n').filter(line => line.includes(outcome));
  let agent: Agent;

  beforeAll(async () => {
    await configure(squad, { servers: { mute: recorded.block() }, shared: ['mute'] });
    [agent] = (await startAgents(squad, 'coder')) as [Agent];
    await agent.sees('mute__take');
  });
  afterAll(() => squad[Symbol.asyncDispose]());

  const ask = (signal: AbortSignal) => {
    const { headers, body } = requestOf('tools/call', { name: 'mute__take', arguments: {} });
    return fetch(agent.url, {
      ...{ method: 'POST', body, signal },
      headers: { ...headers, authorization: `Bearer ${agent.token}` },
    }).catch((error: Error) => error.name);
  };

  test('are written down while they are under way, and again at their end', async () => {
    const left = new AbortController();
    let isOver = false;
    const call = ask(left.signal).finally(() => (isOver = true));
    await until('the line is there', async () => lines('"outcome":"asked"').length === 1);
    expect(isOver).toBe(false);
    left.abort();
    expect(await call).toBe('AbortError');
    await until('its end is there', async () => lines('"outcome":"cancelled"').length === 1);
    expect((await squad.run(['audit', 'verify'])).code).toBe(0);
  });

  test('are denied over and over: a few lines, and every one of them is counted', async () => {
    const ask = () => agent.call('mute__nothing');
    for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 20 }, ask));
    const denied = async () => {
      const { entries } = await squad.json<{ entries: AuditRecord[] }>(['audit', '--denied', '-n', '1000']);
      return entries.filter(({ name }) => name === 'nothing');
    };
    const counted = (entries: AuditRecord[]) => entries.reduce((sum, { count = 1 }) => sum + count, 0);
    await until('all are counted', async () => counted(await denied()) === 400);
    expect((await denied()).length).toBeLessThan(40);
  });
});
