import { expect, test } from 'vitest';
import { amountOf, type FigureId, figure, figureTimeout } from './figures.ts';
import { type PlayName, play, playLine } from './gateway/play.ts';
import { newSeed } from './random.ts';

interface Part {
  title: string;
  tags: string[];
  name: PlayName;
  id: FigureId;
  whole: number;
  /** Where a tenth takes too long: a minute and more for 20,000 calls, minutes for 100 deaths of servers or edits, and about four seconds for each death of a hub. */
  inSuite?: number;
}

const PARTS: Part[] = [
  {
    title:
      'calls of 50 agents with the same ids and progress tokens: every answer is its own, and none is lost or twice',
    tags: ['data-of-one-client-reaching-another', 'R8'],
    name: 'calls',
    id: 'R8',
    whole: 200_000,
    inSuite: 4_000,
  },
  {
    title:
      'servers that die at any point of a call: callers get an error, nothing is done twice, neighbours stay',
    tags: ['R18'],
    name: 'deathsOfServers',
    id: 'R18',
    whole: 1_000,
    inSuite: 24,
  },
  {
    title: 'kill -9 of the hub under calls: runs go on, the audit holds, no server is left or twice',
    tags: ['R15'],
    name: 'deathsOfHubs',
    id: 'R15',
    whole: 400,
    inSuite: 5,
  },
  {
    title:
      'edits of the configuration under calls: only what is valid and trusted counts, and only it starts servers',
    tags: ['R24'],
    name: 'edits',
    id: 'R24',
    whole: 1_000,
    inSuite: 20,
  },
  {
    title: 'every hostile behaviour beside honest agents: they notice nothing of it',
    tags: ['R31'],
    name: 'hostileRounds',
    id: 'R31',
    whole: 3,
  },
];
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

for (const { title, tags, name, id, whole, inSuite } of PARTS)
  test(`${title} (SQUAD_FAULT_SEED=${seed})`, { tags, timeout: figureTimeout(600_000) }, async () => {
    const report = await play(name, seed, amountOf(whole, inSuite));
    console.log(playLine(report));
    expect(report.problems.join('\n')).toBe('');
    const { reached, told, isMet } = report;
    figure(id, { reached, of: whole, told, ...(isMet !== undefined && { isMet }) });
  });
