import { expect, test } from 'vitest';
import { newSeed } from './random.ts';
import { roundLine } from './report.ts';
import { playSeries } from './series.ts';

const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

// The last round of a home whose box is at the end of a cable, and the first of one whose connections go through a program.
test(`hub, runner, sshd and link fail at random moments under 20 agents on a box (SQUAD_FAULT_SEED=${seed}): every run is accounted for`, {
  tags: ['H2', 'H4'],
  timeout: 400_000,
}, async () => {
  const reports = await playSeries({ seed, first: 4, rounds: 2, onBoxes: true });
  expect(
    reports
      .filter(({ problems }) => problems.length > 0)
      .map(roundLine)
      .join('\n'),
  ).toBe('');
  expect(reports).toHaveLength(2);
});
