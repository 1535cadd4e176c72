import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired, type Row, sampled, single } from '../figure.ts';
import type { McpClient, ToolReply } from '../mcp-client.ts';
import { interleave, PAIRS, type Pair, type Samples } from '../measure.ts';
import { canReadMemory, forgetPeak, memoryOf } from '../process-memory.ts';

const GIB = 1024 ** 3;
const LEAST_SHARE = 0.8;
const MOST_GROWTH_MB = 48;
const MOST_REPLY_CHARACTERS = 12_000;
const FINAL_WORDS = 'These are the final words.';
const SCRIPTED_PAIRS = 4;
const PAGES_CHECKED = 20;

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
  const { script, env } = squad.agent([
    `seq 1 999999999 | head -c ${GIB}`,
    `printf '\\n%s\\n' '${FINAL_WORDS}'`,
  ]);
  const flood = await floods(squad, env, 'flood', ['/bin/sh', script], null, PAIRS);
  const checks = await flood.check();
  return [
    paired('template engine, throughput', 'MB/s', flood.throughput, {
      target: `≥ ${LEAST_SHARE} ×`,
      isMet: ({ ratio }) => ratio! >= LEAST_SHARE,
    }),
    ...growth('template engine', flood.growth),
    single('the reply, longest', 'characters', flood.longestReply, {
      target: `≤ ${MOST_REPLY_CHARACTERS}`,
      isMet: ({ value }) => value <= MOST_REPLY_CHARACTERS,
    }),
    single('replies without the final words', 'replies', flood.withoutFinalWords, {
      target: 'none',
      isMet: ({ value }) => value === 0,
    }),
    single(`pages of get_result that differ, of ${checks.pages}`, 'pages', checks.different, {
      target: 'none',
      isMet: ({ value }) => value === 0,
      note: `at random offsets, each followed by the page after it; the whole output ${checks.isSame ? 'is byte for byte that of the floor' : 'DIFFERS from that of the floor'}`,
    }),
  ];
}

/** The scripted engine: every line is an event that Squad reads. */
async function eventLines(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const task = ['```script', 'flood 1GB', `report ${FINAL_WORDS}`, '```', ''].join('\n');
  const agent = [process.execPath, join(squad.program, 'dist', 'scripted-agent.cjs')];
  const flood = await floods(squad, { ENGINE_COMMAND: 'scripted' }, task, agent, task, SCRIPTED_PAIRS);
  return [
    paired('scripted engine, throughput', 'MB/s', flood.throughput, {
      note: 'every line parsed; the reply comes when the last one has been',
    }),
    ...growth('scripted engine', flood.growth),
    single('scripted: replies without the final words', 'replies', flood.withoutFinalWords, {
      target: 'none',
      isMet: ({ value }) => value === 0,
    }),
  ];
}

function growth(name: string, samples: Samples): Row[] {
  if (samples.length === 0) return [];
  return [
    sampled(`${name}, growth of the hub`, 'MB', samples, {
      target: `≤ ${MOST_GROWTH_MB} MB, each time`,
      isMet: () => Math.max(...samples) <= MOST_GROWTH_MB,
      note: `peak RSS during the flood less RSS before it; the most was ${Math.max(...samples).toFixed(1)} MB`,
    }),
  ];
}

interface Floods {
  throughput: Pair;
  growth: Samples;
  longestReply: number;
  withoutFinalWords: number;
  /** Compares what the last flood left with what the floor wrote. */
  check(): Promise<{ pages: number; different: number; isSame: boolean }>;
}

async function floods(
  squad: BenchSquad,
  env: Record<string, string>,
  task: string,
  [program, ...args]: string[],
  input: string | null,
  pairs: number,
): Promise<Floods> {
  const hub = await squad.hubPid();
  await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
  const client = squad.client(env);
  await client.initialize();
  const file = join(squad.root, 'floor-output');
  const promptFile = join(squad.root, 'floor-input');
  writeFileSync(promptFile, input ?? '');
  const result: Omit<Floods, 'check' | 'throughput'> = { growth: [], longestReply: 0, withoutFinalWords: 0 };
  let last: { memberId: string; outputFile: string } | null = null;

  // One short run first: what the hub needs for any run is not what a flood adds.
  const quiet = squad.client({ RUN_TEMPLATE: '/bin/echo' });
  await quiet.initialize();
  await quiet.tool('start_squad_members', { members: [{ roleId: 'coder', task: 'x' }] });
  await quiet.close();

  async function ours(): Promise<number> {
    const before = canReadMemory ? memoryOf(hub).now : 0;
    if (canReadMemory) forgetPeak(hub);
    const start = performance.now();
    const reply = await untilEnded(
      client,
      await client.tool('start_squad_members', { members: [{ roleId: 'coder', task }] }),
    );
    const took = performance.now() - start;
    if (canReadMemory) result.growth.push(memoryOf(hub).peak - before);
    const [member] = reply.structuredContent.members as {
      memberId: string;
      status: string;
      rawStdout: string;
    }[];
    if (member?.status !== 'completed') throw new Error(`The flood did not complete: ${member?.status}`);
    result.longestReply = Math.max(result.longestReply, reply.content[0]!.text.length);
    if (!member.rawStdout.includes(FINAL_WORDS)) result.withoutFinalWords++;
    if (last) rmSync(last.outputFile);
    last = {
      memberId: member.memberId,
      outputFile: join(squad.home, 'runs', member.memberId, 'turn-1', 'stdout'),
    };
    return rate(statSync(last.outputFile).size, took);
  }

  async function floor(): Promise<number> {
    rmSync(file, { force: true });
    mkdirSync(join(squad.root, 'user'), { recursive: true });
    const [stdin, stdout] = [openSync(promptFile, 'r'), openSync(file, 'a')];
    const start = performance.now();
    const child = spawn(program!, args, {
      cwd: squad.workspace,
      env: squad.env(),
      stdio: [stdin, stdout, 'ignore'],
    });
    closeSync(stdin);
    closeSync(stdout);
    await once(child, 'exit');
    return rate(statSync(file).size, performance.now() - start);
  }

  const throughput = await interleave(ours, floor, { pairs, warmUps: 1 });
  return {
    ...result,
    throughput,
    async check() {
      const pages = await comparePages(client, last!.memberId, file);
      const isSame = sameBytes(file, last!.outputFile);
      return { ...pages, isSame };
    },
  };
}

/** On a slow disk a flood may outlast one call. */
async function untilEnded(client: McpClient, reply: ToolReply): Promise<ToolReply> {
  let current = reply;
  for (let tries = 0; tries < 20 && current.structuredContent.note !== undefined; tries++)
    current = await client.tool('get_result', {
      squad_id: current.structuredContent.squadId,
      wait_seconds: 40,
    });
  return current;
}

async function comparePages(client: McpClient, id: string, truth: string) {
  const fd = openSync(truth, 'r');
  const { size } = statSync(truth);
  let different = 0;
  const offsets = Array.from({ length: PAGES_CHECKED }, () => Math.floor(Math.random() * (size - 100_000)));
  const fetch = async (offset: number) =>
    (await client.tool('get_result', { spawn_id: id, stream: 'stdout', offset })).structuredContent.page as {
      text: string;
      offset: number;
      next_offset: number;
      size: number;
    };
  for (const offset of [0, ...offsets, size - 5_000]) {
    const first = await fetch(offset);
    const second = await fetch(first.next_offset);
    const joined = Buffer.from(first.text + second.text);
    const expected = Buffer.alloc(second.next_offset - first.offset);
    readSync(fd, expected, 0, expected.length, first.offset);
    const fits = first.offset === offset && second.offset === first.next_offset && second.size === size;
    if (!fits || !joined.equals(expected)) different++;
  }
  closeSync(fd);
  return { pages: 2 * (offsets.length + 2), different };
}

function sameBytes(a: string, b: string): boolean {
  try {
    execFileSync('cmp', ['-s', a, b]);
    return true;
  } catch {
    return false;
  }
}

const rate = (bytes: number, ms: number): number => bytes / 1e6 / (ms / 1000);
