import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewaySquad } from '../../bench/gateway/gateway-squad.ts';
import { askHub } from '../../bench/hub-line.ts';
import { InspectedHub } from '../../bench/inspected-hub.ts';
import type { McpClient } from '../../bench/mcp-client.ts';
import { memoryOf } from '../../bench/process-memory.ts';
import { echoBlock } from '../servers/start.ts';
import { until } from './patience.ts';
import { isAlive, kill, listProcesses, processesAbout } from './processes.ts';
import { createRandom, roundSeed } from './random.ts';
import { type Trend, trendOf } from './trend.ts';

/** Goal for the heap without compiled code after the warm-up, in MB of 1,000,000 bytes per hour. */
export const MAX_HEAP_SLOPE = 2;
const SERVERS = 3;
const SAMPLE_EVERY_S = 10;
/** Caches fill and functions are compiled in the beginning. */
const WARM_UP_SHARE = 1 / 3;

interface Sample {
  minutes: number;
  heapMb: number;
  codeMb: number;
  rssMb: number;
  descriptors: number;
  processes: number;
}

export interface Soak {
  runs: number;
  /** Heap without compiled code after the warm-up, in MB per hour, with its standard error. */
  slope: number;
  error: number;
  lines: string[];
  problems: string[];
}

/** One run per second on a real hub with gateway servers, while clients list, read, search and cancel and a server is killed each minute. */
export async function soak(minutes: number, seed: number, tell: (line: string) => void): Promise<Soak> {
  await using squad = new GatewaySquad();
  await using hub = await InspectedHub.start(squad);
  const pid = await squad.hubPid();
  const servers = Object.fromEntries(Array.from({ length: SERVERS }, (_, at) => [`echo${at}`, echoBlock()]));
  await squad.serve(servers);
  await squad.squad('config', 'set', 'limits.spawns_per_minute', '100000');
  const life = new SoakLife(squad, seed);
  await life.open();
  const samples: Sample[] = [];
  const start = performance.now();
  const minutesNow = () => (performance.now() - start) / 60_000;
  for (let second = 0; minutesNow() < minutes; second++) {
    life.tick(second);
    if (second % SAMPLE_EVERY_S === 0) {
      const heap = { heapMb: await hub.heapMb(), codeMb: await hub.codeMb() };
      const sample = { minutes: minutesNow(), ...heap, ...kernelFigures(pid, squad.root) };
      samples.push(sample);
      if (second % 60 === 0) tell(sampleLine(sample, life.started));
    }
    await delay(Math.max(0, start + (second + 1) * 1_000 - performance.now()));
  }
  const problems = await life.close();
  if (!isAlive(pid)) problems.push('the hub is not the one it was');
  if (life.entries === 0) problems.push('no agent reached a server');
  const { lines, ...heap } = judged(samples, minutes);
  return {
    ...heap,
    runs: life.started,
    problems,
    lines: [...lines, `${life.entries} entries in the audit log`],
  };
}

function kernelFigures(pid: number, root: string): Omit<Sample, 'minutes' | 'heapMb' | 'codeMb'> {
  return {
    rssMb: memoryOf(pid).now,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    processes: processesAbout(root).length,
  };
}

const sampleLine = (sample: Sample, runs: number): string =>
  [
    `${sample.minutes.toFixed(1).padStart(5)} min`,
    `${String(runs).padStart(5)} runs`,
    `heap ${sample.heapMb.toFixed(2)} MB`,
    `code ${sample.codeMb.toFixed(2)} MB`,
    `RSS ${sample.rssMb.toFixed(0)} MB`,
    `${sample.descriptors} descriptors`,
    `${sample.processes} processes`,
  ].join('  ');

function judged(samples: Sample[], minutes: number): Omit<Soak, 'runs' | 'problems'> {
  const later = samples.filter(sample => sample.minutes >= minutes * WARM_UP_SHARE);
  const slopeOf = (figure: (sample: Sample) => number) =>
    trendOf(later.map(sample => ({ x: sample.minutes / 60, y: figure(sample) })));
  const describe = (name: string, unit: string, { slope, error }: Trend, goal = '') =>
    `${name}: ${slope.toFixed(2)} ± ${error.toFixed(2)} ${unit}/h${goal}`;
  const heap = slopeOf(({ heapMb, codeMb }) => heapMb - codeMb);
  return {
    ...heap,
    lines: [
      describe('heap without compiled code', 'MB', heap, ` (goal: ≤ ${MAX_HEAP_SLOPE} MB/h)`),
      describe(
        'compiled code',
        'MB',
        slopeOf(({ codeMb }) => codeMb),
      ),
      describe(
        'RSS',
        'MB',
        slopeOf(({ rssMb }) => rssMb),
      ),
      describe(
        'descriptors',
        'descriptors',
        slopeOf(({ descriptors }) => descriptors),
      ),
      describe(
        'processes',
        'processes',
        slopeOf(({ processes }) => processes),
      ),
    ],
  };
}

/** Everything that happens to the hub, by the second. */
class SoakLife {
  started = 0;
  /** Of the audit log: the agents' calls reached the gateway. */
  entries = 0;
  private readonly squad: GatewaySquad;
  private readonly random: ReturnType<typeof createRandom>;
  private readonly problems: string[] = [];
  private readonly under = new Set<Promise<unknown>>();
  private readonly ended: string[] = [];
  private readonly clients: { shell?: McpClient; scripted?: McpClient } = {};

  constructor(squad: GatewaySquad, seed: number) {
    this.squad = squad;
    this.random = createRandom(roundSeed(seed, 0));
  }

  async open(): Promise<void> {
    const { env } = this.squad.agent(['cat >/dev/null', 'echo "done: $SQUAD_RUN_ID"']);
    this.clients.shell = this.squad.client(env);
    this.clients.scripted = this.squad.client({ ENGINE_COMMAND: 'scripted' });
    for (const client of Object.values(this.clients)) await client.initialize();
  }

  /** One run each second; now and then something else. */
  tick(second: number): void {
    if (second % 4 === 1) this.go(this.calls(second));
    else if (second % 20 === 10) this.go(this.cancelled());
    else this.go(this.finishes('shell', 'say that you are done', 'done: '));
    if (second % 5 === 2) this.go(this.read());
    if (second % 7 === 3) this.go(this.lists());
    if (second % 60 === 59) this.killServer();
  }

  /** Waits for the end of everything. Returns what went wrong. */
  async close(): Promise<string[]> {
    await Promise.all(this.under);
    await until('the end of every run', async () => {
      const status = await askHub<{ runsActive: number; runsQueued: number }>(this.squad, 'hub_status');
      return status?.runsActive === 0 && status.runsQueued === 0;
    }).catch((error: Error) => this.problems.push(error.message));
    const audit = await askHub<{ problem: unknown; entries: number }>(this.squad, 'verify_audit');
    this.entries = audit?.entries ?? 0;
    if (audit === null || audit.problem) this.problems.push(`the audit log: ${JSON.stringify(audit)}`);
    return this.problems;
  }

  private go(work: Promise<unknown>): void {
    const settled = work
      .catch((error: Error) => this.problems.push(error.message))
      .finally(() => this.under.delete(settled));
    this.under.add(settled);
  }

  private async finishes(kind: 'shell' | 'scripted', task: string, answer: string): Promise<void> {
    this.started++;
    const { structuredContent } = await this.clients[kind]!.tool('start_squad_members', {
      members: [{ roleId: 'coder', task }],
    });
    const [member] = structuredContent.members as { memberId: string; status: string; rawStdout: string }[];
    if (member?.status !== 'completed' || !member.rawStdout.includes(answer))
      this.problems.push(`a run without the right end: ${JSON.stringify(member).slice(0, 500)}`);
    this.ended.push(member!.memberId);
    if (this.ended.length > 50) this.ended.shift();
  }

  /** An agent that uses a server. A server that was just killed may refuse. */
  private calls(second: number): Promise<void> {
    const call = `call echo${second % SERVERS}__echo {"text": "soak ${second}"}`;
    return this.finishes('scripted', ['```script', call, 'say done', '```'].join('\n'), 'done');
  }

  private async cancelled(): Promise<void> {
    this.started++;
    const { runIds } = await this.ask<{ runIds: string[] }>('start_squad', {
      engine: 'scripted',
      members: [{ roleId: 'coder', task: '```script\nsay waits\nhang\n```' }],
    });
    await delay(3_000);
    await this.ask('cancel_run', { spawn_id: runIds[0] });
  }

  private async read(): Promise<void> {
    const run = this.ended.length > 0 ? this.random.pick(this.ended) : null;
    if (!run) return;
    await this.clients.shell!.tool('get_result', { spawn_id: run });
    await this.ask('show_run', { run });
    await this.ask('read_output', { run });
  }

  private async lists(): Promise<void> {
    await this.ask('list_runs', { limit: 50 });
    await this.ask('list_board', { limit: 20 });
    await this.ask('inspect_gateway');
  }

  private async ask<T>(operation: string, input: object = {}): Promise<T> {
    const answer = await askHub<T>(this.squad, operation, { input });
    if (answer === null) throw new Error(`${operation}: the hub did not answer`);
    return answer;
  }

  private killServer(): void {
    const upstreams = listProcesses().filter(
      ({ command, environment }) =>
        command.includes('echo.ts') &&
        environment.some(entry => entry.startsWith('SQUAD_UPSTREAM=')) &&
        environment.some(entry => entry.includes(this.squad.root)),
    );
    if (upstreams.length > 0) kill(this.random.pick(upstreams).pid, 'SIGKILL');
  }
}
