import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOME_ID_FILE } from '../../src/link/home-id.ts';
import { newSchema, query } from '../../src/store/fixtures/temp-database.ts';
import { GitSquad } from '../support/git-squad.ts';
import { isAlive, TestSquad, until } from '../support/squad.ts';

/** Hubs that are killed at the same time, each with a running agent and a queued run. */
const KILLED = 8;
/** A takeover begins half a minute after the last heartbeat. */
const TAKEOVER_MS = 90_000;

const HANG = '```script\nsay half\nhang\n```';

/** A hub of its own, and what was running there when it was lost. */
interface Lost {
  squad: TestSquad;
  pid: number;
  running: string;
  queued: string;
}

let database: string;
let survivor: TestSquad;
const squads: TestSquad[] = [];
const killed: Lost[] = [];
let frozen: Lost;
/** Its home is at a path that the other hubs cannot read, as on another machine. */
let away: Lost;
let again: Lost;

function using<T extends TestSquad>(squad: T): T {
  squads.push(squad);
  return squad;
}

async function start(squad: TestSquad, task: string): Promise<string> {
  const args = ['run', 'coder', task, '--engine', 'scripted', '--detach'];
  return (await squad.json<{ runIds: string[] }>(args)).runIds[0]!;
}

async function busy(squad: TestSquad, task = HANG): Promise<Lost> {
  const pid = await squad.hubPid();
  const running = await start(squad, task);
  const queued = await start(squad, 'Say hello');
  await until('the agent works', async () => (await squad.statusOf(running)) === 'running');
  return { squad, pid, running, queued };
}

const hubOf = ({ home }: TestSquad): string => readFileSync(join(home, HOME_ID_FILE), 'utf8').trim();

async function row(id: string): Promise<{ status: string; hub: string }> {
  const [found] = await query(database, `select status, hub from runs where id = '${id}'`);
  return found as { status: string; hub: string };
}

/** Processes of the run that have not ended. */
const agentOf = (run: string): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      const isOfRun = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`SQUAD_RUN_ID=${run}`);
      return isOfRun && isAlive(Number(pid));
    } catch {
      return false; // no process, or one that has just ended
    }
  });

/** Waits until the run has another status or owner, and checks at that moment that its agent is gone. */
async function untilTaken({ squad, running }: Lost): Promise<void> {
  const hub = hubOf(squad);
  await until(
    `${running} is taken over`,
    async () => {
      const now = await row(running);
      return now.status !== 'running' || now.hub !== hub;
    },
    TAKEOVER_MS,
  );
  expect(agentOf(running)).toEqual([]);
}

beforeAll(async () => {
  database = await newSchema();
  const env = { SQUAD_DATABASE_URL: database, SQUAD_HUB_LINGER_MS: '600000' };
  survivor = using(new TestSquad(env));
  await survivor.unlimited();
  await survivor.set('limits.concurrency', '1');
  for (let at = 0; at < KILLED; at++) killed.push(await busy(using(new TestSquad(env))));
  frozen = await busy(using(new TestSquad(env)));
  away = await busy(using(new TestSquad(env)));
  const git = using(new GitSquad({ coder: '---\nisolation: worktree\ntakeover: true\n---\nYou code.' }, env));
  // Each attempt writes the number of its turn until it may end.
  const work = 'while [ ! -e go ]; do echo $SQUAD_TURN >>beats; sleep 0.1; done';
  again = await busy(git, `\`\`\`script\nrun ${work}\nreport done\n\`\`\``);
  await query(database, `update hubs set home = '/nowhere' where id = '${hubOf(away.squad)}'`);
  for (const { pid } of [...killed, away, again]) process.kill(pid, 'SIGKILL');
  process.kill(frozen.pid, 'SIGSTOP');
}, 240_000);

afterAll(async () => {
  for (const squad of squads.toReversed()) await squad[Symbol.asyncDispose]();
}, 120_000);

describe('a hub that is lost', { tags: ['F8', 'H6'] }, () => {
  test('killed: when its agent is gone, another hub declares the run lost and starts the queued one, once', async () => {
    await Promise.all(killed.map(untilTaken));
    await survivor.set('limits.concurrency', '20');
    for (const { running, queued, squad } of killed) {
      await expect.poll(() => survivor.statusOf(running)).toBe('lost');
      await expect.poll(() => survivor.statusOf(queued)).toBe('completed');
      expect(await row(running)).toEqual({ status: 'lost', hub: hubOf(survivor) });
      expect(JSON.stringify(await survivor.shown(running))).toContain('Its hub had ended');
      expect((await survivor.run(['log', running])).stdout).toContain('half');
      expect(existsSync(join(squad.home, 'runs', running))).toBe(false);
      const starts = `select count(*) as n from events where run_id = '${queued}' and type = 'run.started'`;
      expect(await query(database, starts)).toEqual([{ n: 1 }]);
    }
  }, 150_000);

  test('the next hub of its home starts without the runs, and works', async () => {
    const { squad, running } = killed[0]!;
    const next = await start(squad, 'Say hello');
    await expect.poll(() => squad.statusOf(next)).toBe('completed');
    expect(await row(running)).toEqual({ status: 'lost', hub: hubOf(survivor) });
    expect(await row(next)).toEqual({ status: 'completed', hub: hubOf(squad) });
  }, 60_000);

  test('suspended: it stops when it continues, before it writes or starts anything', async () => {
    const { squad, pid, running, queued } = frozen;
    await untilTaken(frozen);
    await expect.poll(() => survivor.statusOf(running)).toBe('lost');
    process.kill(pid, 'SIGCONT');
    await until('the suspended hub has stopped', () => !isAlive(pid), 60_000);
    expect(readFileSync(join(squad.home, 'hub.log'), 'utf8')).toContain(
      'another hub has taken over its runs',
    );
    expect(await row(running)).toEqual({ status: 'lost', hub: hubOf(survivor) });
    await expect.poll(() => survivor.statusOf(queued)).toBe('completed');
    const starts = `select count(*) as n from events where run_id = '${queued}' and type = 'run.started'`;
    expect(await query(database, starts)).toEqual([{ n: 1 }]);
    expect((await squad.run(['ls'])).code).toBe(0);
  }, 150_000);

  test('with files that no other hub can read: the run is lost, its output and the queued run wait for its home', async () => {
    const { squad, running, queued } = away;
    await untilTaken(away);
    const own = hubOf(squad);
    await expect.poll(() => row(running)).toEqual({ status: 'lost', hub: own });
    expect(await row(queued)).toEqual({ status: 'queued', hub: own });
    await squad.hubPid();
    await expect.poll(() => squad.statusOf(queued)).toBe('completed');
    expect(JSON.stringify(await squad.shown(running))).toContain('/nowhere');
    expect((await squad.run(['log', running])).stdout).toContain('half');
  }, 150_000);

  test('with a role that takes over: another attempt goes on in the same work tree', async () => {
    const { running } = again;
    const [tree] = await query(database, `select worktree from runs where id = '${running}'`);
    const { path } = JSON.parse(String(tree!.worktree));
    const beats = () => readFileSync(join(path, 'beats'), 'utf8').trim();
    await until('the next attempt works', () => beats().endsWith('2'), TAKEOVER_MS);
    writeFileSync(join(path, 'go'), '');
    await expect.poll(() => survivor.statusOf(running)).toBe('completed');
    const { run } = await survivor.shown<{ run: { notes: string[]; turn: number } }>(running);
    expect(run.turn).toBe(2);
    expect(run.notes.join(' ')).toContain('Attempt 2 started in the same work tree');
    // The first agent wrote nothing after the second one began.
    expect(beats()).toMatch(/^[1\n]+[2\n]+$/);
  }, 150_000);
});
