import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPackage } from '../../bench/package-copy.ts';
import { FaultHome } from './fault-home.ts';
import { playRound, prepareHome, type RoundReport } from './round.ts';
import { planRound } from './round-plan.ts';

export interface SeriesOptions {
  seed: number;
  rounds: number;
  /** Where to begin, to play one round of a series again. */
  first?: number;
  onRound?(report: RoundReport): void;
}

/** A home serves so many rounds: new ones and grown ones both have their faults. */
const ROUNDS_A_HOME = 5;

/** Plays the rounds one after the other on a build of the source as it is now. */
export async function playSeries({
  seed,
  rounds,
  first = 0,
  onRound,
}: SeriesOptions): Promise<RoundReport[]> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-package-'));
  const reports: RoundReport[] = [];
  try {
    const program = copyPackage(join(folder, 'package'));
    for (let at = first; at < first + rounds; ) {
      const count = Math.min(ROUNDS_A_HOME - (at % ROUNDS_A_HOME), first + rounds - at);
      for (const report of await playHome(program, seed, at, count, onRound)) reports.push(report);
      at += count;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return reports;
}

async function playHome(
  program: string,
  seed: number,
  first: number,
  count: number,
  onRound?: SeriesOptions['onRound'],
): Promise<RoundReport[]> {
  const home = new FaultHome(program);
  const reports: RoundReport[] = [];
  try {
    await prepareHome(home);
    for (let round = first; round < first + count; round++) {
      const plan = planRound(seed, round, home.side);
      const startedAt = Date.now();
      const report = await playRound(home, plan).catch(
        (error: Error): RoundReport => ({
          plan,
          problems: [`it broke off: ${error.stack ?? error.message}`],
          ends: new Map(),
          kills: 0,
          moment: 'unknown',
          ms: Date.now() - startedAt,
        }),
      );
      reports.push(report);
      if (round < first + count - 1) onRound?.(report);
    }
  } finally {
    const left = await home.remove();
    const last = reports.at(-1);
    if (last) {
      last.problems.push(...left.map(process => `left when the hub had gone: ${process}`));
      onRound?.(last);
    }
  }
  return reports;
}
