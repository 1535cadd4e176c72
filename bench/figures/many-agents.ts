import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { Fifo, makeFifo, release } from '../fifo.ts';
import { type Figure, type Row, single } from '../figure.ts';
import type { McpClient } from '../mcp-client.ts';
import { until } from '../measure.ts';
import { canReadMemory, memoryOf } from '../process-memory.ts';

const AGENTS = 200;
const MAX_HUB_MB = 150;

interface Member {
  memberId: string;
  status: string;
  rawStdout: string;
}

/** Two hundred agents that run at the same time: none ends before the last has started. */
export const manyAgents: Figure = {
  name: 'many-agents',
  title: `${AGENTS} agents at once`,
  async measure() {
    return [...(await shellAgents()), ...(await nodeAgents())];
  },
};

/** Agents that weigh nothing, so that what is seen is Squad. */
async function shellAgents(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const gate = join(squad.root, 'gate');
  makeFifo(gate);
  const fifo = new Fifo(join(squad.root, 'started'));
  const { env } = squad.agent([`echo >${fifo.path}`, `read -r _ <${gate}`, 'echo "done: $SQUAD_RUN_ID"']);
  const rows = await together('sh', squad, env, 'wait for the gate', fifo, () => release(gate));
  fifo.close();
  return rows;
}

/** Agents that are programs of Node with an event stream, as real ones are. */
async function nodeAgents(): Promise<Row[]> {
  await using squad = new BenchSquad();
  const gate = join(squad.root, 'gate');
  const fifo = new Fifo(join(squad.root, 'started'));
  const task = [
    '```script',
    `run echo >${fifo.path}`,
    `await ${gate}`,
    'run echo "done: $SQUAD_RUN_ID"',
    '```',
  ];
  const rows = await together('scripted', squad, { ENGINE_COMMAND: 'scripted' }, task.join('\n'), fifo, () =>
    writeFileSync(gate, ''),
  );
  fifo.close();
  return rows;
}

async function together(
  kind: string,
  squad: BenchSquad,
  env: Record<string, string>,
  task: string,
  fifo: Fifo,
  openGate: () => void,
): Promise<Row[]> {
  const hub = await squad.hubPid();
  await squad.squad('config', 'set', 'limits.concurrency', String(AGENTS));
  await squad.squad('config', 'set', 'limits.spawns_per_minute', String(AGENTS));
  const client = squad.client(env);
  await client.initialize();

  const start = performance.now();
  const members = Array.from({ length: AGENTS }, () => ({ roleId: 'coder', task }));
  let isOver = false;
  const call = client.tool('start_squad_members', { members }).finally(() => {
    isOver = true;
  });
  const tooEarly = call.then(() => Promise.reject(new Error('The call came back before all had begun')));
  const started = (await Promise.race([fifo.take(AGENTS), tooEarly])) - start;
  const opened = performance.now();
  await until('every agent ended', () => {
    openGate();
    return isOver;
  });
  const ended = performance.now() - opened;
  const { structuredContent } = await call;
  const found = await everyMember(client, structuredContent.squadId as string);
  const failed = found.filter(
    ({ memberId, status, rawStdout }) => status !== 'completed' || !rawStdout.includes(`done: ${memberId}`),
  ).length;
  const memory = canReadMemory ? memoryOf(hub) : null;
  await client.close();

  const failures = AGENTS - found.length + failed;
  return [
    single(`${kind}: call to the last one's first instruction`, 'ms', started),
    single(`${kind}: all let go to the reply`, 'ms', ended),
    single(`${kind}: failed`, 'agents', failures, { target: 'none', isMet: ({ value }) => value === 0 }),
    ...(memory
      ? [
          single(`${kind}: hub RSS at its peak`, 'MB', memory.peak, {
            target: `≤ ${MAX_HUB_MB} MB`,
            isMet: ({ value }) => value <= MAX_HUB_MB,
          }),
        ]
      : []),
  ];
}

/** The reply holds as many as fit; the rest is asked for page by page. */
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
