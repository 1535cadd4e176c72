/**
 * `npm run faults`: kills the hub at random moments while twenty agents are at work, and checks what is left; then tries
 * what stands between agents and other MCP servers.
 */
import { parseArgs } from 'node:util';
import { PLAY_NAMES, play, playLine, WHOLE } from './gateway/play.ts';
import { newSeed } from './random.ts';
import { roundLine, summaryLines } from './report.ts';
import { playSeries } from './series.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string', default: String(newSeed()) },
    first: { type: 'string' },
    gateway: { type: 'boolean', default: false },
    calls: { type: 'string' },
  },
});
const { rounds = '100', first = '0', calls = String(WHOLE.calls), gateway } = values;
const numbers = [rounds, values.seed, first, calls].map(Number);
const isForRounds = values.rounds !== undefined || values.first !== undefined;
const isForGateway = gateway || values.calls !== undefined;
if (!numbers.every(Number.isSafeInteger) || (isForRounds && isForGateway)) {
  console.error(
    'Usage: npm run faults -- [--seed S] [--rounds N] [--first ROUND] | [--seed S] --gateway [--calls N]',
  );
  process.exit(2);
}
if (process.platform !== 'linux') {
  console.error('The faults look at processes through /proc, so they need Linux.');
  process.exit(2);
}
const seed = Number(values.seed);
const isFine = [!isForGateway ? await playRounds() : true, !isForRounds ? await playGateway() : true];
process.exitCode = isFine.every(Boolean) ? 0 : 1;

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

async function playGateway(): Promise<boolean> {
  console.log(`Seed ${seed}, agents and the servers they reach through the hub`);
  const amounts = { ...WHOLE, calls: Number(calls) };
  let isFine = true;
  for (const name of PLAY_NAMES) {
    const report = await play(name, seed, amounts[name]);
    console.log(playLine(report));
    isFine &&= report.problems.length === 0;
  }
  return isFine;
}
