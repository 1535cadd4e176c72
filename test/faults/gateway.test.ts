import { expect, test } from 'vitest';
import { PLAY_NAMES, type PlayName, play, playLine } from './gateway/play.ts';
import { newSeed } from './random.ts';

/** A little of everything in `npm run faults -- --gateway`; of what servers can do to their client, all. */
const AMOUNTS: Record<PlayName, number> = {
  calls: 8_000,
  deathsOfEachServer: 1,
  deathsOfHubs: 2,
  edits: 15,
  hostileRounds: 1,
};
const TITLES: Record<PlayName, string> = {
  calls:
    'calls of 50 agents with the same ids and progress tokens: every answer is its own, and none is lost or twice',
  deathsOfEachServer:
    'servers that die at any point of a call: callers are told, nothing is done twice, neighbours stay',
  deathsOfHubs: 'kill -9 of the hub under calls: runs go on, the audit holds, no server is left or twice',
  edits:
    'edits of the configuration under calls: only what is valid and trusted counts, and only it starts servers',
  hostileRounds: 'every hostile behaviour beside honest agents: they notice nothing of it',
};
const seed = Number(process.env.SQUAD_FAULT_SEED ?? newSeed());

test.each(PLAY_NAMES.map(name => [TITLES[name], name] as const))(
  `%s (SQUAD_FAULT_SEED=${seed})`,
  async (_, name) => {
    const report = await play(name, seed, AMOUNTS[name]);
    console.log(playLine(report));
    expect(report.problems.join('\n')).toBe('');
  },
  300_000,
);
