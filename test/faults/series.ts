import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPackage } from '../../bench/package-copy.ts';
import { closeBoxHome, openBoxHome } from './box-home.ts';
import { FaultHome } from './fault-home.ts';
import { playRound, prepareHome, type RoundReport } from './round.ts';
import { planRound } from './round-plan.ts';
import { TwoNetworks } from './two-networks.ts';

export interface SeriesOptions {
  seed: number;
  rounds: number;
  /** Where to begin, to play one round of a series again. */
  first?: number;
  onRound?(report: RoundReport): void;
  /** The agents are on a box. In every other home a cable leads there, where that is possible; else a program. */
  onBoxes?: boolean;
}

/** A home serves so many rounds: new ones and grown ones both have their faults. */
const ROUNDS_A_HOME = 5;

/** Plays the rounds one after the other on a build of the source as it is now. */
export async function playSeries({
  seed,
  rounds,
  first = 0,
  onRound,
  onBoxes,
}: SeriesOptions): Promise<RoundReport[]> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-package-'));
  const reports: RoundReport[] = [];
  try {
    const program = copyPackage(join(folder, 'package'));
    for (let at = first; at < first + rounds; ) {
      const count = Math.min(ROUNDS_A_HOME - (at % ROUNDS_A_HOME), first + rounds - at);
      for (const report of await playHome(program, { seed, first: at, rounds: count, onRound, onBoxes }))
        reports.push(report);
      at += count;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return reports;
}

async function playHome(
  program: string,
  { seed, first = 0, rounds, onRound, onBoxes = false }: SeriesOptions,
): Promise<RoundReport[]> {
  const hasCable = onBoxes && Math.floor(first / ROUNDS_A_HOME) % 2 === 0;
  const networks = hasCable ? await TwoNetworks.open() : null;
  const boxed = onBoxes ? await openBoxHome(program, networks) : null;
  const home = boxed?.home ?? new FaultHome(program);
  const kind = boxed && { canUnplug: networks !== null };
  const reports: RoundReport[] = [];
  try {
    await prepareHome(home);
    for (let round = first; round < first + rounds; round++) {
      const plan = planRound(seed, round, home.side, kind);
      const startedAt = Date.now();
      const report = await playRound(home, plan, boxed).catch(
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
      if (round < first + rounds - 1) onRound?.(report);
    }
  } finally {
    const left = await (boxed ? closeBoxHome(boxed) : home.remove());
    networks?.close();
    const last = reports.at(-1);
    if (last) {
      last.problems.push(...left.map(process => `left when the hub had gone: ${process}`));
      onRound?.(last);
    }
  }
  return reports;
}
