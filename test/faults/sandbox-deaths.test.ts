import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { SquadResult } from '../../src/operations/runs/run-result.ts';
import { userGit } from '../support/git-squad.ts';
import type { FaultHome } from './fault-home.ts';
import { amountOf, figureTimeout } from './figures.ts';
import { until } from './patience.ts';
import { kill, processesAbout, processesOfRuns } from './processes.ts';
import { createRandom, newSeed, type Random, roundSeed } from './random.ts';
import { endOf, openHome, processesOf, turnFile } from './scenario.ts';

const ROUNDS = amountOf(60, 6);
const AGENTS = 6;
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

const VICTIMS = ['hub', 'wrapper', 'bubblewrap', 'proxy'] as const;
type Victim = (typeof VICTIMS)[number];

/** Sandboxed agents, each in a work tree, that commit at the beginning and at the end. */
const taskOf = (tag: string, lines: number): string =>
  [
    tag,
    '```script',
    ...[`write ${tag}.txt`, '| begun', `run git add -A && git commit -qm "${tag} begun"`],
    ...Array.from({ length: lines }, () => ['say at it', 'sleep 50ms']).flat(),
    ...['write end.txt', '| done', `run git add -A && git commit -qm "${tag} done"`, 'report Done.'],
    '```',
  ].join('\n');

test(`kill -9 of hub, wrapper, bubblewrap or proxy at ${ROUNDS} random moments with sandboxed agents in work trees (SQUAD_FAULT_SEED=${seed}): nothing is left, every run and commit is accounted for`, {
  tags: ['I4'],
  timeout: figureTimeout(300_000),
}, async () => {
  const home = await openHome();
  await home.set('limits.spawns_per_minute', 100_000);
  const git = (...args: string[]) => userGit(home.workspace, { PATH: process.env.PATH! }, ...args);
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'First');
  writeFileSync(
    join(home.root, 'roles', 'tree.md'),
    '---\nengine: scripted\nisolation: worktree\n---\nYou commit.',
  );
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(roundSeed(seed, round));
    const victim = VICTIMS[round % VICTIMS.length]!;
    const ids = await submit(home, round, random);
    await delay(random.between(0, 1_800));
    const hit = await killOne(home, victim, ids, random);
    for (const [at, id] of ids.entries()) {
      const { run } = await endOf(home, id);
      const { branch } = run.worktree ?? {};
      const commits = branch ? git('log', '--format=%s', branch).split('\n') : [];
      const seen = { round, victim, id, status: run.status, error: run.error, notes: run.notes, commits };
      const isWhole = run.status === 'completed' && commits.includes(`r${round}a${at} done`);
      const isCutOff = id === hit && ['error', 'lost'].includes(run.status) && run.error !== null;
      expect(isWhole || isCutOff, JSON.stringify(seen)).toBe(true);
    }
    await until('the end of all processes', () => processesOf(...ids).length === 0);
    expect(git('fsck', '--connectivity-only', '--no-dangling')).toBe('');
  }
});

async function submit(home: FaultHome, round: number, random: Random): Promise<string[]> {
  const link = await home.hub();
  const members = Array.from({ length: AGENTS }, (_, at) => ({
    roleId: 'tree',
    task: taskOf(`r${round}a${at}`, random.between(4, 20)),
    sandbox: random.pick(['workspace', 'strict']),
  }));
  const { members: started } = await link.call<SquadResult>(
    'start_squad_members',
    { members },
    { waitMs: 0 },
  );
  link.close();
  return started.map(({ memberId }) => memberId);
}

/** The run whose process it was; null if it was none of a run, or none was there at this moment. */
async function killOne(
  home: FaultHome,
  victim: Victim,
  ids: string[],
  random: Random,
): Promise<string | null> {
  if (victim === 'hub') await home.killHub();
  if (victim === 'proxy')
    for (const { pid, command } of processesAbout(home.root))
      if (command.includes('sandbox-proxy')) kill(pid, 'SIGKILL');
  if (victim === 'hub' || victim === 'proxy') return null;
  const id = random.pick(ids);
  const found = victim === 'wrapper' ? [wrapperOf(home, id)] : bubblewrapOf(id);
  const pid = found.length > 0 ? random.pick(found) : null;
  if (pid !== null) kill(pid, 'SIGKILL');
  return pid === null ? null : id;
}

function wrapperOf(home: FaultHome, id: string): number | null {
  try {
    return Number.parseInt(readFileSync(turnFile(home, id, 'pid'), 'utf8'), 10);
  } catch {
    return null; // not started yet
  }
}

const bubblewrapOf = (id: string): number[] =>
  processesOfRuns(new Set([id]))
    .filter(({ command }) => /\bbwrap --args/.test(command))
    .map(({ pid }) => pid);
