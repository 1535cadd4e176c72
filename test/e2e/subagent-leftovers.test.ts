import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mock } from '../engines/model-server/script.ts';
import { processesOf } from '../support/processes-of.ts';
import { HANDSHAKE, type RawMcp } from '../support/raw-mcp.ts';
import { isAlive, until } from '../support/squad.ts';
import { nested, ownServer, Subagents, said } from '../support/subagents.ts';

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
  async ({ end }) => {
    subagents.write('quick', { servers: { slow: ownServer('lingering') } });
    const client = await subagents.client('quick');
    await said(client, client.call('quick', { prompt: mock([{ call: 'stay' }, { text: 'done' }]) }));
    expect(present()).not.toEqual([]);
    end(client);
    expect({ code: (await client.ended).code, left: present() }).toEqual({ code: 0, left: [] });
  },
);

test('the end of its input while one subagent works for another: nothing is left of either', async () => {
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

test('a program in its sandbox ends with the rest', async () => {
  subagents.write('programmer', {
    more: { defaults: { model: 'main', codeMode: { enabled: true } } },
    servers: { slow: ownServer('lingering') },
  });
  const client = await subagents.client('programmer');
  const code = 'await tools.slow__stay({}); for (;;) {}';
  client.call('programmer', { prompt: mock([{ call: 'run_program', arguments: { code } }]) });
  const seen = await until('the program is at work', () => {
    const all = present();
    return all.some(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('bwrap')) && all;
  });
  client.child.kill('SIGTERM');
  expect((await client.ended).code).toBe(0);
  expect({ marked: present(), seen: seen.filter(isAlive) }).toEqual({ marked: [], seen: [] });
});

test.each<{ how: string; end(client: { kill(signal: 'SIGTERM'): boolean; stdin: unknown }): void }>([
  { how: 'SIGTERM', end: child => void child.kill('SIGTERM') },
  { how: 'the end of its input', end: ({ stdin }) => (stdin as NodeJS.WritableStream).end() },
])('$how while nobody reads what it says: it ends all the same, when nothing is left', async ({ end }) => {
  subagents.write('worker', { servers: { busy: ownServer('busy', pids) } });
  const child = subagents.squad.start(['mcp', ...subagents.args('worker')]);
  const ended = new Promise<number | null>(settle => child.once('exit', settle));
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
  const gone = await until('it has ended', () => child.exitCode !== null && child);
  expect({ code: gone.exitCode, left: present() }).toEqual({ code: 0, left: [] });
  child.stdout!.destroy();
  await ended;
});
