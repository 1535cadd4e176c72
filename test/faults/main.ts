/**
 * `npm run faults`: reaches the goal figures of `figures.ts`, all or those that are named. With `--rounds` it only kills the hub at
 * random moments while twenty agents work, and checks what is left.
 */
import { parseArgs } from 'node:util';
import { FIGURE_IDS, type FigureId } from './figures.ts';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { runFigures } from './run-figures.ts';
import { playSeries } from './series.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    figures: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(newSeed()) },
    first: { type: 'string' },
  },
});
const { rounds = '100', first = '0' } = values;
const isForRounds = values.rounds !== undefined || values.first !== undefined;
const isUsable = [rounds, values.seed, first].map(Number).every(Number.isSafeInteger);
const unknown = positionals.filter(id => !FIGURE_IDS.includes(id as FigureId));
if (!isUsable || unknown.length > 0 || (isForRounds && (values.figures || positionals.length > 0))) {
  console.error(
    'Usage: npm run faults -- [--seed S] --figures [R1 … R36] | [--seed S] --rounds N [--first ROUND]',
  );
  process.exit(2);
}
if (process.platform !== 'linux') {
  console.error('The faults look at processes through /proc, so they need Linux.');
  process.exit(2);
}
const seed = Number(values.seed);
const wanted = positionals.length > 0 ? (positionals as FigureId[]) : FIGURE_IDS;
process.exitCode = (isForRounds ? await playRounds() : runFigures(wanted, seed)) ? 0 : 1;

async function playRounds(): Promise<boolean> {
  console.log(`Seed ${seed}, ${rounds} rounds of 20 agents`);
  const reports = await playSeries({
    seed,
    rounds: Number(rounds),
    first: Number(first),
    onRound: report => console.log(roundLine(report)),
  });
  console.log(summaryLines(reports).join('\n'));
  return reports.every(({ problems }) => problems.length === 0);
}
