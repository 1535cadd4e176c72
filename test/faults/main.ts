/**
 * `npm run faults`: reaches the goal figures of `figures.ts`, all or those that are named. With `--rounds` it only kills the hub at
 * random moments while twenty agents work, and checks what is left. `npm run soak` watches the memory of one hub instead.
 */
import { parseArgs } from 'node:util';
import { FIGURE_IDS, type FigureId } from './figures.ts';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { runFigures } from './run-figures.ts';
import { playSeries } from './series.ts';
import { MAX_HEAP_SLOPE, soak } from './soak.ts';

const { values, positionals: ids } = parseArgs({
  allowPositionals: true,
  options: {
    figures: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(newSeed()) },
    first: { type: 'string' },
    boxes: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
  },
});
const { rounds = '100', first = '0', minutes } = values;
const isForRounds = values.rounds !== undefined || values.first !== undefined;
const isUsable = [rounds, values.seed, first, minutes].map(Number).every(Number.isSafeInteger);
const unknown = ids.filter(id => !FIGURE_IDS.includes(id as FigureId));
const modes = [isForRounds, values.figures || ids.length > 0, values.soak].filter(Boolean);
if (!isUsable || unknown.length > 0 || modes.length > 1) {
  console.error(
    'Usage: npm run faults -- [--seed S] --figures [R1 … R36] | [--seed S] [--boxes] --rounds N [--first ROUND], or npm run soak -- [--seed S] [--minutes N]',
  );
  process.exit(2);
}
if (process.platform !== 'linux') {
  console.error('The faults look at processes through /proc, so they need Linux.');
  process.exit(2);
}
const seed = Number(values.seed);
const wanted = ids.length > 0 ? (ids as FigureId[]) : FIGURE_IDS;
const isFine = values.soak ? playSoak() : isForRounds ? playRounds() : runFigures(wanted, seed);
process.exitCode = (await isFine) ? 0 : 1;

async function playSoak(): Promise<boolean> {
  console.log(`Seed ${seed}, one run per second for ${minutes} minutes`);
  const { runs, slope, lines, problems } = await soak(Number(minutes), seed, console.log);
  console.log(
    ['', `${runs} runs, ${problems.length} problems`, ...lines, ...problems.slice(0, 20)].join('\n'),
  );
  return problems.length === 0 && slope <= MAX_HEAP_SLOPE;
}

async function playRounds(): Promise<boolean> {
  const { boxes: onBoxes } = values;
  console.log(`Seed ${seed}, ${rounds} rounds of 20 agents${onBoxes ? ' on a box' : ''}`);
  const reports = await playSeries({
    seed,
    rounds: Number(rounds),
    first: Number(first),
    onBoxes,
    onRound: report => console.log(roundLine(report)),
  });
  console.log(summaryLines(reports).join('\n'));
  return reports.every(({ problems }) => problems.length === 0);
}
