import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HOME_ID_FILE } from '../../src/link/home-id.ts';
import { query } from '../../src/store/fixtures/temp-database.ts';
import { askHub } from '../support/ask-hub.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { TestSquad, until } from '../support/squad.ts';

const HUBS = 3;
const RUNS_OF_EACH = 40;
const ALL = HUBS * RUNS_OF_EACH;
const END_MS = 150_000;

test('PostgreSQL restarts, then a hub is killed, while three hubs are busy: no run is lost, and none runs twice', {
  tags: ['F8', 'H6'],
  timeout: 400_000,
}, async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const squads = Array.from(
    { length: HUBS },
    () =>
      new TestSquad({
        SQUAD_DATABASE_URL: server.url,
        SQUAD_HUB_LINGER_MS: '600000',
        ENGINE_COMMAND: '',
      }),
  );
  const [first] = squads as [TestSquad, ...TestSquad[]];
  onTestFinished(async () => {
    for (const squad of squads) await squad[Symbol.asyncDispose]();
  });
  const done = join(first.root, 'done');
  for (const squad of squads)
    squad.env.RUN_TEMPLATE = `sh -c 'sleep 0.1; echo $SQUAD_RUN_ID >>${done}' x <%= it.promptFile %>`;
  await first.unlimited();
  await first.set('limits.concurrency', '2');
  const pids = await Promise.all(squads.map(squad => squad.hubPid()));
  const asked = squads.map(squad =>
    askHub(squad, 'start_squad_members', {
      members: Array.from({ length: RUNS_OF_EACH }, () => ({ roleId: 'coder', task: 'Work' })),
    }),
  );
  // The hub that is killed may not answer.
  void Promise.allSettled(asked);
  const isStored = `select count(*) = ${ALL} as yes from runs`;
  const last = readFileSync(join(squads.at(-1)!.home, HOME_ID_FILE), 'utf8').trim();
  const hasQueue = `select count(*) > 0 as yes from runs where status = 'queued' and hub = '${last}'`;
  const holds = async (condition: string) => (await query(server.url, condition))[0]!.yes === true;
  await until('all runs are stored', () => holds(isStored), END_MS);
  await server.restart();
  expect(await holds(hasQueue)).toBe(true);
  process.kill(pids.at(-1)!, 'SIGKILL');

  const counts = async () =>
    query(server.url, 'select status, count(*) as n from runs group by status order by status');
  await until(
    'all runs have ended',
    async () => (await counts()).every(({ status }) => !/^(queued|running)$/.test(String(status))),
    END_MS,
  );
  expect(await counts()).toEqual([{ status: 'completed', n: ALL }]);
  const ran = readFileSync(done, 'utf8').trim().split('\n');
  expect(ran).toHaveLength(ALL);
  expect(new Set(ran).size).toBe(ALL);
  const starts = `select count(*) as n, count(distinct run_id) as runs from events where type = 'run.started'`;
  expect(await query(server.url, starts)).toEqual([{ n: ALL, runs: ALL }]);
});
