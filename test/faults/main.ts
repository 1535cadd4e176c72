/** `npm run faults`: kills the hub at random moments while twenty agents are at work, and checks what is left. */
import { parseArgs } from 'node:util';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { playSeries } from './series.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
    first: { type: 'string', default: '0' },
  },
});
const [rounds, seed, first] = [values.rounds, values.seed, values.first].map(Number) as [
  number,
  number,
  number,
];
if (![rounds, seed, first].every(Number.isSafeInteger)) {
  console.error('Usage: npm run faults -- [--rounds N] [--seed S] [--first ROUND]');
  process.exit(2);
}
if (process.platform !== 'linux') {
  console.error('The fault rounds look at processes through /proc, so they need Linux.');
  process.exit(2);
}

console.log(`Seed ${seed}, ${rounds} rounds of 20 agents`);
const reports = await playSeries({
  seed,
  rounds,
  first,
  onRound: report => console.log(roundLine(report)),
});
console.log(summaryLines(reports).join('\n'));
process.exitCode = reports.every(({ problems }) => problems.length === 0) ? 0 : 1;
