import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { areSame, differentPages } from '../compare-output.ts';
import { type Figure, paired, type Row, sampled, single } from '../figure.ts';
import { FINAL_TEXT, Flood } from '../flood.ts';
import { interleave, PAIRS, type Pair, type Samples } from '../measure.ts';

const GIB = 1024 ** 3;
const WALL_MB = 200;
const MAX_WALL_MS = 400;
const LEAST_SHARE = 0.8;
const MAX_GROWTH_MB = 48;
const MAX_REPLY_CHARACTERS = 12_000;
const SCRIPTED_PAIRS = 4;
const PLACES_CHECKED = 20;

/** Compares an agent that writes a gibibyte as fast as it can with the same program writing to a file. */
export const bigOutput: Figure = {
  name: 'big-output',
  title: '1 GiB of output, against the same command > file',
  async measure() {
    return [...(await opaqueLines()), ...(await eventLines())];
  },
};

/** How long the caller waits for an agent that writes much output at once. */
export const outputWall: Figure = {
  name: 'output-wall',
  title: `${WALL_MB} MB of output, from the call to the answer, against the same command > file`,
  async measure() {
    return [
      await wall('template engine', squad => opaqueFlood(squad, WALL_MB * 1e6)),
      await wall('scripted engine, every line parsed', squad => eventFlood(squad, `${WALL_MB}MB`)),
    ];
  },
};

async function wall(name: string, begin: (squad: BenchSquad) => Promise<Flood>): Promise<Row> {
  await using squad = new BenchSquad();
  const flood = await begin(squad);
  const pair = await interleave(
    () => flood.bySquad(),
    () => flood.toFile(),
  );
  await flood.client.close();
  return paired(name, 'ms', pair, {
    target: `≤ ${MAX_WALL_MS} ms`,
    isMet: ({ value }) => value <= MAX_WALL_MS,
  });
}

function opaqueFlood(squad: BenchSquad, bytes: number): Promise<Flood> {
  const source = join(squad.root, 'source');
  execFileSync('sh', ['-c', `seq 1 999999999 | head -c ${bytes} >${source} && sync ${source}`]);
  const { script, env } = squad.agent([`cat ${source}`, `printf '\\n%s\\n' '${FINAL_TEXT}'`]);
  return Flood.start(squad, { env, task: 'flood', argv: ['/bin/sh', script], input: '' });
}

function eventFlood(squad: BenchSquad, size: string): Promise<Flood> {
  const task = ['```script', `flood ${size}`, `report ${FINAL_TEXT}`, '```', ''].join('\n');
  return Flood.start(squad, {
    env: { ENGINE_COMMAND: 'scripted' },
    task,
    argv: [process.execPath, join(squad.program, 'dist', 'scripted-agent.cjs')],
    input: task,
  });
}

/** Converts milliseconds to MB per second. */
function rates({ output, floorOutput }: Flood, { ours, floor }: Pair): Pair {
  const rate = (file: string) => (ms: number) => statSync(file).size / 1e6 / (ms / 1000);
  return { ours: ours.map(rate(output)), floor: floor.map(rate(floorOutput)) };
}

/** Uses the template engine, whose output Squad stores without reading it. */
async function opaqueLines(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const flood = await opaqueFlood(squad, GIB);
  const times = await interleave(
    () => flood.bySquad(),
    () => flood.toFile(),
    { pairs: PAIRS },
  );
  await flood.bySquad();
  await flood.writeFloor();
  const pages = await differentPages(flood.client, flood.runId, flood.floorOutput, PLACES_CHECKED);
  const differs = areSame(flood.output, flood.floorOutput) ? 0 : 1;
  const throughput = rates(flood, times);
  await flood.client.close();
  return [
    paired('template engine, throughput', 'MB/s', throughput, {
      target: `≥ ${LEAST_SHARE} ×`,
      isMet: ({ ratio }) => ratio! >= LEAST_SHARE,
    }),
    ...growth('template engine', flood.growth),
    single('the reply, longest', 'characters', flood.longestReply, {
      target: `≤ ${MAX_REPLY_CHARACTERS}`,
      isMet: ({ value }) => value <= MAX_REPLY_CHARACTERS,
    }),
    none('replies without the final text', 'replies', flood.withoutFinalText),
    none(`pages of get_result that differ, ${PLACES_CHECKED} places`, 'pages', pages),
    none('outputs that differ from the floor, byte for byte', 'outputs', differs),
  ];
}

/** Uses the scripted engine, whose lines are events that Squad reads. */
async function eventLines(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const flood = await eventFlood(squad, '1GB');
  const times = await interleave(
    () => flood.bySquad(),
    () => flood.toFile(),
    { pairs: SCRIPTED_PAIRS, warmUps: 1 },
  );
  await flood.bySquad();
  await flood.writeFloor();
  const throughput = rates(flood, times);
  await flood.client.close();
  return [
    paired('scripted engine, throughput', 'MB/s', throughput, {
      note: 'every line parsed; the reply comes when the last one has been',
    }),
    ...growth('scripted engine', flood.growth),
    none('scripted: replies without the final text', 'replies', flood.withoutFinalText),
  ];
}

const none = (name: string, unit: string, count: number): Row =>
  single(name, unit, count, { target: 'none', isMet: ({ value }) => value === 0 });

function growth(name: string, samples: Samples): Row[] {
  if (samples.length === 0) return [];
  const most = Math.max(...samples);
  return [
    sampled(`${name}, growth of the hub`, 'MB', samples, {
      target: `≤ ${MAX_GROWTH_MB} MB, each time`,
      isMet: () => most <= MAX_GROWTH_MB,
      note: `peak RSS during the flood less RSS before it; the most was ${most.toFixed(1)} MB`,
    }),
  ];
}
