import { expect, test } from 'vitest';
import { amountOf, figure, figureTimeout } from './figures.ts';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { playSeries } from './series.ts';

/** The other 400 deaths of the figure are in `gateway.test.ts`. */
const WHOLE = 100;
const ROUNDS = amountOf(WHOLE);
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

test(`kill -9 of the hub at ${ROUNDS} random moments with 20 agents each (SQUAD_FAULT_SEED=${seed}): every run is accounted for`, {
  tags: ['R15'],
  timeout: figureTimeout(300_000),
}, async () => {
  console.log(`Fault rounds: to play the same ones again set SQUAD_FAULT_SEED=${seed}`);
  const reports = await playSeries({ seed, rounds: ROUNDS });
  console.log(summaryLines(reports).join('\n'));
  expect(
    reports
      .filter(({ problems }) => problems.length > 0)
      .map(roundLine)
      .join('\n'),
  ).toBe('');
  expect(reports).toHaveLength(ROUNDS);
  const kills = reports.reduce((sum, report) => sum + report.kills, 0);
  figure('R15', {
    reached: kills,
    of: WHOLE,
    told: `${kills} hubs killed, ${ROUNDS * 20} runs accounted for`,
  });
});
