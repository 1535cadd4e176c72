import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { areSame, differentPages } from '../compare-output.ts';
import { type Figure, paired, type Row, sampled, single } from '../figure.ts';
import { FINAL_TEXT, Flood } from '../flood.ts';
import { interleave, PAIRS, type Samples } from '../measure.ts';

const GIB = 1024 ** 3;
const LEAST_SHARE = 0.8;
const MAX_GROWTH_MB = 48;
const MAX_REPLY_CHARACTERS = 12_000;
const SCRIPTED_PAIRS = 4;
const PLACES_CHECKED = 20;

/** An agent that writes a gibibyte as fast as it can, and the same program with its output sent to a file. */
export const bigOutput: Figure = {
  name: 'big-output',
  title: '1 GiB of output, against the same command > file',
  async measure() {
    return [...(await opaqueLines()), ...(await eventLines())];
  },
};

/** The template engine: Squad keeps every byte and looks into none. */
async function opaqueLines(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const source = join(squad.root, 'source');
  execFileSync('sh', ['-c', `seq 1 999999999 | head -c ${GIB} >${source} && sync ${source}`]);
  const { script, env } = squad.agent([`cat ${source}`, `printf '\\n%s\\n' '${FINAL_TEXT}'`]);
  const flood = await Flood.start(squad, { env, task: 'flood', argv: ['/bin/sh', script], input: '' });
  const throughput = await interleave(
    () => flood.bySquad(),
    () => flood.toFile(),
    { pairs: PAIRS },
  );
  await flood.bySquad();
  await flood.writeFloor();
  const pages = await differentPages(flood.client, flood.runId, flood.floorOutput, PLACES_CHECKED);
  const differs = areSame(flood.output, flood.floorOutput) ? 0 : 1;
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

/** The scripted engine: every line is an event that Squad reads. */
async function eventLines(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const task = ['```script', 'flood 1GB', `report ${FINAL_TEXT}`, '```', ''].join('\n');
  const flood = await Flood.start(squad, {
    env: { ENGINE_COMMAND: 'scripted' },
    task,
    argv: [process.execPath, join(squad.program, 'dist', 'scripted-agent.cjs')],
    input: task,
  });
  const throughput = await interleave(
    () => flood.bySquad(),
    () => flood.toFile(),
    { pairs: SCRIPTED_PAIRS, warmUps: 1 },
  );
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
