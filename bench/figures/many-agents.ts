import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo, makeFifo, release } from '../fifo.ts';
import { type Figure, paired, type Row, single } from '../figure.ts';
import type { McpClient } from '../mcp-client.ts';
import { interleave, type Pair, until } from '../measure.ts';
import { canReadMemory, memoryOf } from '../process-memory.ts';
import { clientForStarts } from '../start-pair.ts';

const AGENTS = 200;
const MAX_HUB_MB = 150;
const MAX_TIMES_FLOOR = 1.15;

interface Member {
  memberId: string;
  status: string;
  rawStdout: string;
}

/** Two hundred agents at once. None ends before the last has started. */
export const manyAgents: Figure = {
  name: 'many-agents',
  title: `${AGENTS} agents at once`,
  async measure() {
    return [...(await shellAgents()), ...(await nodeAgents())];
  },
};

/** How to start a kind of agent. */
interface Kind {
  name: 'sh' | 'scripted';
  env: Record<string, string>;
  task: string;
  /** Each agent writes to this pipe when it has started. */
  fifo: Fifo;
  /** Starts the same agent without Squad. */
  spawn(): ChildProcess;
  openGate(): void;
  closeGate(): void;
}

/** Uses agents that need almost no resources, so that the figures show Squad's cost. */
async function shellAgents(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const gate = join(squad.root, 'gate');
  makeFifo(gate);
  const fifo = new Fifo(join(squad.root, 'started'));
  const { script, env } = squad.agent([
    ...[`echo >${fifo.path}`, `read -r _ <${gate}`, 'echo "done: $SQUAD_RUN_ID"'],
  ]);
  const options = { cwd: squad.workspace, env: squad.env(env), stdio: 'ignore' } as const;
  const rows = await together(squad, {
    ...{ name: 'sh', env, task: 'wait for the gate', fifo },
    spawn: () => spawn('/bin/sh', [script], options),
    openGate: () => release(gate),
    closeGate: () => {},
  });
  fifo.close();
  return rows;
}

/** Uses Node programs with an event stream, like real agents. */
async function nodeAgents(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const gate = join(squad.root, 'gate');
  const fifo = new Fifo(join(squad.root, 'started'));
  const lines = [
    '```script',
    `run echo >${fifo.path}`,
    `await ${gate}`,
    'run echo "done: $SQUAD_RUN_ID"',
    '```',
  ];
  const task = lines.join('\n');
  const prompt = join(squad.root, 'prompt.md');
  writeFileSync(prompt, task);
  let chats = 0;
  const rows = await together(squad, {
    ...{ name: 'scripted', env: { ENGINE_COMMAND: 'scripted' }, task, fifo },
    spawn() {
      const stdin = openSync(prompt, 'r');
      const chat = join(squad.root, 'chats', String(++chats), 'prompts.json');
      const env = { ...squad.env(), SQUAD_SCRIPTED_CHAT: chat, SQUAD_SCRIPTED_ROLE: 'coder' };
      const script = join(squad.program, 'dist', 'scripted-agent.cjs');
      const child = spawn(process.execPath, [script], {
        ...{ cwd: squad.workspace, env, stdio: [stdin, 'ignore', 'ignore'] },
      });
      closeSync(stdin);
      return child;
    },
    openGate: () => writeFileSync(gate, ''),
    closeGate: () => rmSync(gate, { force: true }),
  });
  fifo.close();
  return rows;
}

async function together(squad: BenchSquad, kind: Kind): Promise<Row[]> {
  const { name, env, fifo } = kind;
  const hub = await squad.hubPid();
  await squad.squad('config', 'set', 'limits.concurrency', String(AGENTS));
  const client = await clientForStarts(squad, env);
  const ends: Pair = { ours: [], floor: [] };
  let failures = 0;
  const pair = await interleave(
    async () => {
      const { started, ended, failed } = await startTogether(client, kind);
      ends.ours.push(ended);
      failures += failed;
      return started;
    },
    async () => {
      const start = performance.now();
      const children = Array.from({ length: AGENTS }, kind.spawn);
      const over = Promise.all(children.map(child => once(child, 'exit')));
      const started = (await fifo.take(AGENTS)) - start;
      ends.floor.push(await letGo(kind, over));
      return started;
    },
    // Each pair takes seconds, so there are no warm-ups.
    { warmUps: 0 },
  );
  const memory = canReadMemory ? memoryOf(hub) : null;
  await client.close();
  return [
    paired(`${name}: call to the last one's first instruction, against as many spawns`, 'ms', pair, {
      target: `≤ ${MAX_TIMES_FLOOR} ×`,
      isMet: ({ ratio }) => ratio! <= MAX_TIMES_FLOOR,
    }),
    paired(`${name}: all let go to the reply, against the last exit`, 'ms', ends),
    single(`${name}: failed`, 'agents', failures, { target: 'none', isMet: ({ value }) => value === 0 }),
    ...(memory
      ? [
          single(`${name}: hub RSS at its peak`, 'MB', memory.peak, {
            target: `≤ ${MAX_HUB_MB} MB`,
            isMet: ({ value }) => value <= MAX_HUB_MB,
          }),
        ]
      : []),
  ];
}

async function startTogether(
  client: McpClient,
  kind: Kind,
): Promise<{ started: number; ended: number; failed: number }> {
  const start = performance.now();
  const members = Array.from({ length: AGENTS }, () => ({ roleId: 'coder', task: kind.task }));
  const call = client.tool('start_squad_members', { members });
  const tooEarly = call.then(() => Promise.reject(new Error('The call came back before all had begun')));
  const started = (await Promise.race([kind.fifo.take(AGENTS), tooEarly])) - start;
  const ended = await letGo(kind, call);
  const { structuredContent } = await call;
  const found = await everyMember(client, structuredContent.squadId as string);
  const failed = found.filter(
    ({ memberId, status, rawStdout }) => status !== 'completed' || !rawStdout.includes(`done: ${memberId}`),
  ).length;
  return { started, ended, failed: AGENTS - found.length + failed };
}

/** Milliseconds from opening the gate until all agents have ended. */
async function letGo({ openGate, closeGate }: Kind, over: Promise<unknown>): Promise<number> {
  const opened = performance.now();
  let isOver = false;
  let ended = 0;
  void over.then(() => {
    isOver = true;
    ended = performance.now();
  });
  await until('every agent ended', () => {
    openGate();
    return isOver;
  });
  closeGate();
  return ended - opened;
}

/** Reads all members page by page, because a reply contains only as many as fit. */
async function everyMember(client: McpClient, squadId: string): Promise<Member[]> {
  const found: Member[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { structuredContent } = await client.tool('get_result', { squad_id: squadId, offset });
    const page = structuredContent as { members: Member[]; nextOffset?: number };
    found.push(...page.members);
    offset = page.nextOffset;
  }
  return found;
}
