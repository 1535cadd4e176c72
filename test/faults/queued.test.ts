import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FaultHome } from './fault-home.ts';
import { until } from './patience.ts';
import { ask, endOf, eventsOf, openHome, processesOf, show, sideOf, started, turnFile } from './scenario.ts';

/** A hub that was killed with one running agent, which keeps the only slot until `letGo`, and with these tasks in the queue. */
async function killedWithQueue(tags: string[]): Promise<{ home: FaultHome; ids: string[] }> {
  const home = await openHome();
  await home.set('limits.concurrency', 1);
  const [holder] = (await ask(home, [['plain', 'holder held 1 0 0']])) as [string];
  await started(home, 'holder');
  const queued = await ask(
    home,
    tags.map(tag => ['plain', `${tag} lines 2 0 0`]),
  );
  await home.killHub();
  return { home, ids: [holder, ...queued] };
}

const letGo = (home: FaultHome) => writeFileSync(join(home.side, 'holder.go'), '');
const statusOf = async (home: FaultHome, id: string) => {
  const link = await home.hub();
  const { run } = await show(link, id);
  link.close();
  return run.status;
};
const startsOf = async (home: FaultHome) =>
  (await eventsOf(home)).flatMap(({ body, runId }) => (body.type === 'run.started' ? [runId] : []));

test('queued runs whose files were damaged stay queued until their turn, are lost with the reason, and the others go on', {
  tags: ['D10'],
}, async () => {
  const { home, ids } = await killedWithQueue(['gone', 'plan', 'env', 'bare', 'well']);
  const [holder, gone, plan, env, bare, well] = ids as [string, string, string, string, string, string];
  rmSync(`${home.home}/runs/${gone}`, { recursive: true });
  writeFileSync(turnFile(home, plan, 'plan.json'), '{"engine":');
  writeFileSync(`${home.home}/runs/${env}/environment.json`, '{"PATH":');
  rmSync(`${home.home}/runs/${bare}/environment.json`);
  for (const id of [gone, plan, env, bare, well]) expect(await statusOf(home, id)).toBe('queued');
  letGo(home);
  expect((await endOf(home, well)).run).toMatchObject({ status: 'completed', error: null });
  const errors = await Promise.all([gone, plan, env, bare].map(async id => (await endOf(home, id)).run));
  expect(errors.map(({ status, error }) => `${status} ${error?.code}`)).toEqual(Array(4).fill('lost LOST'));
  expect(errors[0]?.error?.message).toContain('folder is gone');
  expect(errors[1]?.error?.message).toContain('plan.json');
  expect(errors[2]?.error?.message).toContain('environment');
  expect(errors[3]?.error?.message).toContain('environment');
  expect(await startsOf(home)).toEqual([holder, well]);
  for (const tag of ['gone', 'plan', 'env', 'bare']) expect(sideOf(home, tag)).toEqual([]);
});

test('a queued run found by the next hub can be listed, waited for and cancelled before it starts', async () => {
  const { home, ids } = await killedWithQueue(['first', 'unwanted', 'last']);
  const [holder, first, unwanted, last] = ids as [string, string, string, string];
  const link = await home.hub();
  const { runs } = await link.call<{ runs: { id: string; status: string }[] }>('list_runs', {});
  expect(runs.map(({ id, status }) => `${id} ${status}`).sort()).toEqual(
    [`${holder} running`, ...[first, unwanted, last].map(id => `${id} queued`)].sort(),
  );
  const waiting = link.call<{ open: string[] }>('wait_for_runs', { runs: [last] });
  await link.call('cancel_run', { spawn_id: unwanted });
  expect(await statusOf(home, unwanted)).toBe('cancelled');
  expect(existsSync(`${home.home}/runs/${unwanted}/environment.json`)).toBe(false);
  letGo(home);
  expect(await waiting).toEqual({ open: [] });
  expect(await statusOf(home, last)).toBe('completed');
  expect(await startsOf(home)).toEqual([holder, first, last]);
  expect(sideOf(home, 'unwanted')).toEqual([]);
  link.close();
});

test('a queued run keeps its place, its prompt and its environment through several hubs, and is run once', {
  tags: ['F2'],
}, async () => {
  const { home, ids } = await killedWithQueue(['one', 'two', 'three']);
  const prompts = ids.map(id => readFileSync(turnFile(home, id, 'prompt.md'), 'utf8'));
  for (let hubs = 0; hubs < 2; hubs++) {
    expect(await statusOf(home, ids[1]!)).toBe('queued');
    await home.killHub();
  }
  letGo(home);
  for (const id of ids) expect((await endOf(home, id)).run.status).toBe('completed');
  expect(await startsOf(home)).toEqual(ids);
  expect(ids.map(id => readFileSync(turnFile(home, id, 'prompt.md'), 'utf8'))).toEqual(prompts);
  for (const tag of ['one', 'two', 'three'])
    expect(sideOf(home, tag).filter(line => line.startsWith('start'))).toHaveLength(1);
  expect(processesOf(...ids)).toEqual([]);
});

test('a raised limit starts queued runs that the next hub found, at once', async () => {
  const { home, ids } = await killedWithQueue(['one', 'two']);
  expect(await statusOf(home, ids[1]!)).toBe('queued');
  await home.set('limits.concurrency', 3);
  for (const id of ids.slice(1)) expect((await endOf(home, id)).run.status).toBe('completed');
  expect(await statusOf(home, ids[0]!)).toBe('running');
  letGo(home);
  await until('the end of the holder', async () => (await statusOf(home, ids[0]!)) === 'completed');
  // Both start at the same time, so either can report its start first.
  expect((await startsOf(home)).toSorted()).toEqual(ids.toSorted());
});
