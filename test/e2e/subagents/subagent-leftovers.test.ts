import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mock } from '../../engines/model-server/script.ts';
import { processesOf } from '../../support/processes-of.ts';
import { HANDSHAKE, type RawMcp } from '../../support/raw-mcp.ts';
import { isAlive, until } from '../../support/squad.ts';
import { nested, ownServer, Subagents, said } from '../../support/subagents.ts';

const BUBBLEWRAP = '/usr/bin/bwrap';
const HAS_SANDBOX = process.platform === 'linux' && existsSync(BUBBLEWRAP);

let subagents: Subagents;
let pids: string;
beforeEach(async () => {
  subagents = await Subagents.start();
  pids = join(subagents.squad.root, 'pids');
});
afterEach(() => subagents[Symbol.asyncDispose]());

const present = () => processesOf(subagents.squad);

/** The server that is never done has begun to work: it is there, and a shell and a child that it started. */
const isBusy = () =>
  until('server, shell and child are there', () => {
    const seen = existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : [];
    return seen.length === 3;
  });

const WAYS: { how: string; end(client: RawMcp): void }[] = [
  { how: 'SIGTERM', end: ({ child }) => child.kill('SIGTERM') },
  { how: 'the end of its input', end: ({ child }) => child.stdin!.end() },
  {
    how: 'two signals, one after the other',
    end: ({ child }) => {
      child.kill('SIGINT');
      child.kill('SIGTERM');
    },
  },
  {
    how: 'a client that hears nothing more either',
    end: ({ child }) => {
      child.stdout!.destroy();
      child.stdin!.end();
    },
  },
];

test.each(WAYS)(
  '$how after an answer: when the server is gone nothing is left, however slowly its servers end',
  { tags: ['E7'] },
  async ({ end }) => {
    subagents.write('quick', { servers: { slow: ownServer('lingering') } });
    const client = await subagents.client('quick');
    await said(client, client.call('quick', { prompt: mock([{ call: 'stay' }, { text: 'done' }]) }));
    expect(present()).not.toEqual([]);
    end(client);
    expect({ code: (await client.ended).code, left: present() }).toEqual({ code: 0, left: [] });
  },
);

/** The call is taken back in the middle of its work, with a server that does not want to go. */
async function takenBack(): Promise<RawMcp> {
  subagents.write('worker', { servers: { busy: ownServer('busy', pids), slow: ownServer('lingering') } });
  const client = await subagents.client('worker');
  const requestId = client.call('worker', { prompt: mock([{ call: 'work' }, { text: 'done' }]) });
  await isBusy();
  expect(present()).not.toEqual([]);
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  return client;
}

test('the end of its input after a call was taken back: it ends when nothing is left of that call', {
  tags: ['E7'],
}, async () => {
  const client = await takenBack();
  client.child.stdin!.end();
  expect({ code: (await client.ended).code, left: present() }).toEqual({ code: 0, left: [] });
});

test('the end of its input, and then that of the hub, after a call was taken back: the next hub stops the rest', async () => {
  const client = await takenBack();
  client.child.stdin!.end();
  await until('its run is over', async () => (await subagents.runs())[0]?.status === 'cancelled');
  process.kill(await subagents.squad.hubPid(), 'SIGKILL');
  expect({ code: (await client.ended).code, left: present() }).toEqual({ code: 0, left: [] });
});

test('the end of its input while one subagent works for another: nothing is left of either', {
  tags: ['E7'],
}, async () => {
  const below = subagents.write('below', {
    servers: { busy: ownServer('busy', pids), slow: ownServer('lingering') },
  });
  subagents.write('above', { servers: { below: nested(below), slow: ownServer('lingering') } });
  const client = await subagents.client('above');
  const prompt = mock([{ call: 'work' }, { text: 'low' }]);
  client.call('above', { prompt: mock([{ call: 'below', arguments: { prompt } }, { text: 'high' }]) });
  await isBusy();
  client.child.stdin!.end();
  expect({ code: (await client.ended).code, left: present() }).toEqual({ code: 0, left: [] });
  expect((await subagents.runs()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
});

test.runIf(HAS_SANDBOX)('a program in its sandbox ends with the rest', { tags: ['E7'] }, async () => {
  subagents.write('programmer', {
    more: { defaults: { model: 'main', codeMode: { enabled: true } } },
    servers: { slow: ownServer('lingering') },
  });
  const client = await subagents.client('programmer');
  await client.ask('logging/setLevel', { level: 'debug' });
  const program = 'await tools.slow__stay({}); for (;;) {}';
  client.call('programmer', { prompt: mock([{ call: 'run_program', arguments: { program } }]) });
  await until('the program has its answer', () =>
    client
      .notices('notifications/message')
      .map(({ params }) => params!.data as { event: string; within?: string })
      .some(({ event, within }) => event === 'tool_result' && within !== undefined),
  );
  const seen = present();
  const inside = seen.filter(isInSandbox);
  const before = new Map(inside.map(pid => [pid, ticksOf(pid)]));
  const looping = await until('it loops', () =>
    inside.find(pid => ticksOf(pid) >= before.get(pid)! + BUSY_TICKS),
  );
  expect(subagents.model.requests).toHaveLength(1);
  expect(isAlive(looping)).toBe(true);
  client.child.kill('SIGTERM');
  expect((await client.ended).code).toBe(0);
  expect({ marked: present(), seen: seen.filter(isAlive) }).toEqual({ marked: [], seen: [] });
});

/** A fifth of a second of work: one that waits for something has none. */
const BUSY_TICKS = 20;

/** Parent, and processor time so far. */
function statOf(pid: number): { parent: number; ticks: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  return { parent: fields[1]!, ticks: fields[11]! + fields[12]! };
}

const ticksOf = (pid: number): number => (isAlive(pid) ? statOf(pid).ticks : 0);

function isInSandbox(pid: number): boolean {
  for (let at = pid; at > 1; at = statOf(at).parent)
    if (readFileSync(`/proc/${at}/cmdline`, 'utf8').startsWith(BUBBLEWRAP)) return true;
  return false;
}

test.each<{ how: string; end(client: { kill(signal: 'SIGTERM'): boolean; stdin: unknown }): void }>([
  { how: 'SIGTERM', end: child => void child.kill('SIGTERM') },
  { how: 'the end of its input', end: ({ stdin }) => (stdin as NodeJS.WritableStream).end() },
])(
  '$how while nobody reads what it says: it ends all the same, when nothing is left',
  { tags: ['E7'] },
  async ({ end }) => {
    subagents.write('worker', { servers: { busy: ownServer('busy', pids) } });
    const child = subagents.squad.start(['mcp', ...subagents.args('worker')]);
    const ended = new Promise<number | null>(settle => child.once('close', settle));
    let told = '';
    child.stderr!.setEncoding('utf8').on('data', chunk => {
      told += chunk;
    });
    const send = (id: number, method: string, params: object) =>
      child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    send(1, 'initialize', HANDSHAKE);
    // Far more than what lies between the two can hold.
    for (let id = 2; id < 4_000; id++) send(id, 'tools/list', {});
    send(4_000, 'tools/call', {
      name: 'worker',
      arguments: { prompt: mock([{ call: 'work' }, { text: 'done' }]) },
    });
    await isBusy();
    end(child);
    const gone = await until('it has ended', () => child.exitCode !== null && child, 50_000);
    expect({ code: gone.exitCode, left: present() }).toEqual({ code: 0, left: [] });
    child.stdout!.destroy();
    await ended;
    expect(told).toBe('');
  },
);
