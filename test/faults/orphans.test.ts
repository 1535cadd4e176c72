import { copyFileSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { SquadResult } from '../../src/operations/runs/run-result.ts';
import { isEnd, type Run } from '../../src/schema/run.ts';
import { until } from '../support/squad.ts';
import type { FaultHome } from './fault-home.ts';
import { amountOf, figure, figureTimeout } from './figures.ts';
import type { HubLink } from './hub-link.ts';
import { BRIEF_MS } from './members.ts';
import { processesAbout } from './processes.ts';
import { createRandom, newSeed } from './random.ts';
import { newHome, sideOf } from './scenario.ts';

const WHOLE = 1_000;
const RUNS = amountOf(WHOLE);
const AT_ONCE = 20;
const MAX_SECONDS = 10;
/** A hub that was just started may have a file or socket open for a moment. */
const MAX_MORE_DESCRIPTORS = 2;
/** As in agents/agent.sh. The scripted engine reads its tools' output through a pipe, so its orphans cannot hold the turn's. */
const KINDS = ['deaf', 'session', 'daemon', 'writer', 'stripped', 'child'];
const SCRIPTED_KINDS = KINDS.filter(kind => kind !== 'writer');

const ENDS = [
  'completed',
  'cancelled',
  'timeout',
  'completed without a hub',
  'cancelled around a kill',
] as const;
type End = (typeof ENDS)[number];

const ORPHANS = 'orphans.sh';
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

test(`${RUNS} runs whose tools start processes that ignore TERM, become daemons or change their session leave none of them (SQUAD_FAULT_SEED=${seed})`, {
  tags: ['R14'],
  timeout: figureTimeout(300_000),
}, async () => {
  const home = newHome();
  const play = new OrphanPlay(home);
  await play.open();
  for (let done = 0; done < RUNS; done += AT_ONCE)
    await play.batch(ENDS[(done / AT_ONCE) % ENDS.length]!, Math.min(AT_ONCE, RUNS - done));
  const { runs, left, seconds, descriptors } = play;
  expect(runs).toBe(RUNS);
  const told = `${left} stubborn processes, none left ${seconds.toFixed(1)} s after the last end or start, 0 zombies, at most ${descriptors} more descriptors than before`;
  figure('R14', { reached: runs, of: WHOLE, told, isMet: seconds <= MAX_SECONDS });
});

/** One agent of a batch. */
interface Agent {
  tag: string;
  roleId: string;
  task: string;
  kinds: string[];
}

class OrphanPlay {
  runs = 0;
  /** Processes that tools started and that would have stayed. */
  left = 0;
  /** The longest time that one of them stayed. */
  seconds = 0;
  /** The most descriptors of a hub after a batch, beyond those of the first hub before all batches. */
  descriptors = 0;
  private readonly home: FaultHome;
  private readonly random = createRandom(seed);
  private baseline = 0;

  constructor(home: FaultHome) {
    this.home = home;
  }

  async open(): Promise<void> {
    const { home } = this;
    await home.set('limits.concurrency', AT_ONCE);
    await home.set('limits.spawns_per_minute', 100_000);
    symlinkSync('/bin/sleep', join(home.side, 'stubborn'));
    // An agent in a sandbox can read it there.
    copyFileSync(join(import.meta.dirname, 'agents', ORPHANS), join(home.side, ORPHANS));
    // The first run makes the hub open what it opens once.
    const link = await home.hub();
    const ids = await start(link, [{ tag: 'first', roleId: 'plain', task: 'first lines 1 0 0', kinds: [] }]);
    await ended(link, ids);
    this.baseline = descriptorsOf(link.pid);
    link.close();
  }

  async batch(end: End, size: number): Promise<void> {
    const agents = Array.from({ length: size }, (_, at) => this.agent(end, at));
    const before = await this.home.hub();
    const ids = await start(before, agents);
    // Time runs out by itself, perhaps too early on a busy machine.
    if (end !== 'timeout')
      await until('the start of every stubborn process', () => agents.every(each => this.isReady(each)));
    const { link, since } = await this.end(end, agents, ids, before);
    await until('the end of every process', () => this.strays(link.pid).length === 0, 60_000);
    this.seconds = Math.max(this.seconds, (Date.now() - since) / 1_000);
    const runs = await ended(link, ids);
    expect(runs.map(({ status }) => status)).toEqual(ids.map(() => end.split(' ', 1)[0]));
    const left = agents.reduce((sum, { tag }) => sum + sideOf(this.home, `${tag}.left`).length, 0);
    expect(left).toBeGreaterThan(0);
    await until('no zombies', () => zombiesOf(link.pid).length === 0);
    await until(
      'no more descriptors than before',
      () => this.moreDescriptors(link.pid) <= MAX_MORE_DESCRIPTORS,
    );
    this.descriptors = Math.max(this.descriptors, this.moreDescriptors(link.pid));
    this.runs += size;
    this.left += left;
    link.close();
  }

  /** Brings the end about. Returns the hub that is there then, and the moment from which nothing may stay for long. */
  private async end(
    end: End,
    agents: Agent[],
    ids: string[],
    link: HubLink,
  ): Promise<{ link: HubLink; since: number }> {
    const { home } = this;
    const since = Date.now();
    switch (end) {
      case 'completed':
        this.letGo(agents);
        return { link, since };
      case 'cancelled':
        await link.call('cancel_run', { all: true });
        return { link, since };
      case 'timeout': {
        const runs = await ended(link, ids);
        return { link, since: Math.max(...runs.map(({ startedAt }) => startedAt!)) + BRIEF_MS };
      }
      case 'completed without a hub': {
        await home.killHub();
        this.letGo(agents);
        await until('the end of every agent', () =>
          agents.every(({ tag }) => sideOf(home, tag).includes('end')),
        );
        return { since: Date.now(), link: await home.hub() };
      }
      case 'cancelled around a kill': {
        const half = ids.slice(ids.length / 2);
        for (const spawn_id of half) link.call('cancel_run', { spawn_id }).catch(() => {}); // the hub dies over it
        await delay(this.random.between(0, 1_000));
        await home.killHub();
        const next = await home.hub();
        const cancelledAt = Date.now();
        await next.call('cancel_run', { all: true });
        return { link: next, since: cancelledAt };
      }
    }
  }

  private agent(end: End, at: number): Agent {
    const tag = `run${this.runs + at}`;
    const file = join(this.home.side, tag);
    if (end === 'timeout' || at % 4 > 0)
      return {
        tag,
        roleId: end === 'timeout' ? 'brief' : 'plain',
        task: `${tag} orphans 0 0 0`,
        kinds: KINDS,
      };
    const script = [
      `run sh ${join(this.home.side, ORPHANS)} ${this.home.side} ${tag} ${SCRIPTED_KINDS.join(' ')} </dev/null >/dev/null 2>&1`,
      `await ${file}.go`,
      `append ${file}`,
      '| end',
    ];
    const task = [tag, '```script', ...script, '```'].join('\n');
    return { tag, roleId: 'acted', task, kinds: SCRIPTED_KINDS };
  }

  private isReady = ({ tag, kinds }: Agent): boolean =>
    sideOf(this.home, `${tag}.left`).length === kinds.length;

  private letGo(agents: Agent[]): void {
    for (const { tag } of agents) writeFileSync(join(this.home.side, `${tag}.go`), '');
  }

  /** Everything but the hub that names this home in its command line or environment. */
  private strays = (hub: number) => processesAbout(this.home.root).filter(({ pid }) => pid !== hub);

  private moreDescriptors = (hub: number): number => descriptorsOf(hub) - this.baseline;
}

async function start(link: HubLink, agents: Agent[]): Promise<string[]> {
  const members = agents.map(({ roleId, task }) => ({ roleId, task }));
  const started = await link.call<SquadResult>('start_squad_members', { members }, { waitMs: 0 });
  return started.members.map(({ memberId }) => memberId);
}

/** These runs, when all of them have ended. */
async function ended(link: HubLink, ids: string[]): Promise<Run[]> {
  return until('the end of every run', async () => {
    const { runs } = await link.call<{ runs: Run[] }>('list_runs', { limit: 2 * AT_ONCE });
    const ours = runs.filter(({ id }) => ids.includes(id));
    return ours.length === ids.length && ours.every(({ status }) => isEnd(status)) ? ours : null;
  });
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Children that have ended and that their parent has not collected. */
function zombiesOf(parent: number): string[] {
  return readdirSync('/proc').filter(name => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/stat`, 'latin1').includes(`) Z ${parent} `);
    } catch {
      return false; // gone meanwhile
    }
  });
}
