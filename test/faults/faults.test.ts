import { expect, test } from 'vitest';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { playSeries } from './series.ts';

/** A tenth of `npm run faults`. */
const ROUNDS = 10;
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

test(`kill -9 of the hub at ${ROUNDS} random moments with 20 agents each (SQUAD_FAULT_SEED=${seed}): every run is accounted for`, async () => {
  console.log(`Fault rounds: to play the same ones again set SQUAD_FAULT_SEED=${seed}`);
  const reports = await playSeries({ seed, rounds: ROUNDS });
  console.log(summaryLines(reports).join('\n'));
  expect(reports.filter(({ problems }) => problems.length > 0).map(roundLine)).toEqual([]);
  expect(reports).toHaveLength(ROUNDS);
}, 300_000);
