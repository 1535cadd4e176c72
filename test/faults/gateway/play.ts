import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPackage } from '../../../bench/package-copy.ts';
import { configEdits } from './config-edits.ts';
import { crossedCalls, type Played } from './crossed-calls.ts';
import { hostileNeighbours } from './hostile-neighbours.ts';
import { hubDeaths } from './hub-deaths.ts';
import { upstreamDeaths } from './upstream-deaths.ts';

type Play = (program: string, seed: number, amount: number) => Promise<Played>;

/** Each is given a build of Squad, its numbers, and how much of it is wanted. */
const PLAYS = {
  calls: crossedCalls,
  deathsOfServers: upstreamDeaths,
  deathsOfHubs: hubDeaths,
  edits: configEdits,
  hostileRounds: hostileNeighbours,
} satisfies Record<string, Play>;

export type PlayName = keyof typeof PLAYS;

export interface PlayReport extends Played {
  name: PlayName;
  seed: number;
  amount: number;
  ms: number;
}

/** Plays one part on a build of the source as it is now. */
export async function play(name: PlayName, seed: number, amount: number): Promise<PlayReport> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-package-'));
  const startedAt = Date.now();
  try {
    const program = copyPackage(join(folder, 'package'));
    const played = await PLAYS[name](program, seed, amount).catch((error: Error) => ({
      reached: 0,
      told: 'it broke off',
      problems: [error.stack ?? error.message],
    }));
    return { name, seed, amount, ...played, ms: Date.now() - startedAt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first few say enough. */
const MAX_REPORTED = 20;

export function playLine({ name, seed, amount, told, problems, ms }: PlayReport): string {
  const line = `gateway, ${name} ${amount}: ${told}; ${(ms / 1000).toFixed(1)} s`;
  if (problems.length === 0) return `ok   ${line}`;
  const more = problems.length > MAX_REPORTED ? [`… and ${problems.length - MAX_REPORTED} more`] : [];
  const repeat = `repeat with: SQUAD_FAULT_SEED=${seed} npm test -- test/faults/gateway.test.ts`;
  return [
    `FAIL ${line}`,
    ...[...problems.slice(0, MAX_REPORTED), ...more, repeat].map(told => `     ${told}`),
  ].join('\n');
}
