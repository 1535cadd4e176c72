import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { TestSquad, until } from '../support/squad.ts';

test('a takeover that fails after it has the runs is repeated until they are recovered', {
  tags: ['F8', 'H6'],
  timeout: 300_000,
}, async () => {
  const database = await newSchema();
  const env = { SQUAD_DATABASE_URL: database, SQUAD_HUB_LINGER_MS: '600000' };
  const [survivor, lost] = [new TestSquad(env), new TestSquad(env)];
  for (const squad of [survivor, lost]) onTestFinished(() => squad[Symbol.asyncDispose]());
  await survivor.unlimited();
  await survivor.set('limits.concurrency', '1');
  await survivor.hubPid();
  const pid = await lost.hubPid();
  const start = async (task: string) => {
    const args = ['run', 'coder', task, '--engine', 'scripted', '--detach'];
    return (await lost.json<{ runIds: string[] }>(args)).runIds[0]!;
  };
  const running = await start('```script\nsay half\nhang\n```');
  const queued = await start('Say hello');
  await until('the agent works', async () => (await lost.statusOf(running)) === 'running');
  process.kill(pid, 'SIGKILL');
  // The takeover itself needs no events, but the recovery does.
  await query(database, 'alter table events rename to events_away');
  const log = () => readFileSync(join(survivor.home, 'hub.log'), 'utf8');
  await until('the takeover fails', () => log().includes('could not be taken over'), 90_000);
  const owners = await query(database, `select count(distinct hub) as n from runs where status = 'queued'`);
  expect(owners).toEqual([{ n: 1 }]);
  await query(database, 'alter table events_away rename to events');
  await expect.poll(() => survivor.statusOf(queued), { timeout: 60_000 }).toBe('completed');
  await expect.poll(() => survivor.statusOf(running), { timeout: 20_000 }).toBe('lost');
});
