import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { takeLock } from '../../../src/store/sqlite/lock.ts';
import { ENVELOPE, RawMcp } from '../../support/raw-mcp.ts';
import { callTool, isAlive, TestSquad, until } from '../../support/squad.ts';

interface Squad {
  squadId: string;
  members: { memberId: string; status: string; rawStdout: string }[];
}

const SCRIPTED = { ENGINE_COMMAND: 'scripted' };

let squad: TestSquad;
beforeEach(() => {
  squad = new TestSquad();
  return () => squad[Symbol.asyncDispose]();
});

async function killHub(): Promise<void> {
  const pid = await squad.hubPid();
  const sockets = socketsOf(pid);
  process.kill(pid, 'SIGKILL');
  await until('the hub is dead', () => !isAlive(pid));
  // A program that it was about to start has its connections until that program is executed.
  await until('its connections are closed', () => !openSockets().some(inode => sockets.has(inode)));
}

/** By inode. */
function socketsOf(pid: number): Set<string> {
  const opened = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return /^socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
    } catch {
      return undefined; // closed since
    }
  });
  return new Set(opened.filter(inode => inode !== undefined));
}

const openSockets = (): string[] =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map(line => line.split(/\s+/)[6] ?? '');

const go = () => join(squad.workspace, 'go');
const waitingTask = () => `\`\`\`script\nsay half done\nawait ${go()}\nreport well done\n\`\`\``;
const runs = () => squad.json<{ runs: { id: string; status: string }[] }>(['ls', '--all']);

describe.each([{ modern: false }, { modern: true }])(
  'a client (of the current revision: $modern)',
  ({ modern }) => {
    test('does not notice that the hub was killed between two calls', async () => {
      const client = await squad.client({ modern });
      const before = await client.listTools();
      for (let i = 0; i < 3; i++) {
        await killHub();
        expect(await callTool(client, 'list_running')).toEqual({ agents: [], count: 0 });
      }
      await killHub();
      expect(await client.listTools()).toEqual(before);
    });

    test('a call that waits when the hub is killed gets HUB_RESTARTED; the run continues and get_result finds it', {
      tags: ['F2'],
    }, async () => {
      const client = await squad.client({ modern, env: SCRIPTED });
      const waiting = client
        .callTool({
          name: 'start_squad_members',
          arguments: { members: [{ roleId: 'coder', task: waitingTask() }] },
        })
        .catch((error: unknown) => error);
      await until('the run is running', async () => (await runs()).runs[0]?.status === 'running');
      await killHub();
      expect(await waiting).toMatchObject({
        message: expect.stringMatching(
          /HUB_RESTARTED.*Started in this workspace since: run_\w+ \(coder, running\).*list_running/,
        ),
        data: { code: 'HUB_RESTARTED', tool_name: 'start_squad_members' },
      });

      const { agents } = await callTool<{ agents: { spawn_id: string }[] }>(client, 'list_running');
      expect(agents).toEqual([expect.objectContaining({ role_id: 'coder', status: 'running' })]);
      writeFileSync(go(), '');
      expect(
        await callTool(client, 'get_result', { spawn_id: agents[0]!.spawn_id, wait_seconds: 90 }),
      ).toMatchObject({ status: 'completed', result: 'well done' });
    });
  },
);

test('the handshake is said again to the next hub and its answer is kept from the client', async () => {
  const client = await RawMcp.legacy(squad);
  await killHub();
  await client.told(client.call('list_running'));
  await killHub();
  await client.told(client.call('list_running'));
  expect(client.answers(1)).toHaveLength(1);
  expect(client.messages).toHaveLength(3);
});

test('a call made after the hub had died is served, even if the relay was too busy to notice the death', async () => {
  const client = await RawMcp.legacy(squad, { env: SCRIPTED });
  await squad.hubPid();
  client.child.kill('SIGSTOP');
  await until('the relay stands still', () =>
    /^\d+ \(.*\) T/.test(readFileSync(`/proc/${client.child.pid}/stat`, 'utf8')),
  );
  await killHub();
  const call = client.call('list_running');
  client.child.kill('SIGCONT');
  expect(await client.told(call)).toEqual({ agents: [], count: 0 });
});

/** To anywhere, by the kernel's own count. */
const bytesWritten = (pid: number): number =>
  Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

test('a question that the dead hub left open is asked of the next one; a call it may have taken is not', async () => {
  const client = await RawMcp.legacy(squad, { env: SCRIPTED });
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGSTOP');
  const before = bytesWritten(client.child.pid!);
  const question = client.request('tools/list');
  const call = client.call('start_squad_members', { members: [{ roleId: 'coder', task: 'once' }] });
  // A call that never reached the hub would be asked of the next one, and rightly so.
  await until('the relay has passed both on', () => bytesWritten(client.child.pid!) - before > 200);
  process.kill(pid, 'SIGKILL');
  expect((await client.answer(question)).result).toMatchObject({ tools: expect.any(Array) });
  expect((await client.answer(call)).error?.data).toMatchObject({ code: 'HUB_RESTARTED' });
  expect(await runs()).toMatchObject({ runs: [] });
  expect([client.answers(question), client.answers(call)].map(({ length }) => length)).toEqual([1, 1]);
});

test('calls made while there is no hub reach the next one, in order, once each', async () => {
  const client = await RawMcp.legacy(squad, { env: SCRIPTED });
  const pid = await squad.hubPid();
  // Whoever holds the lock keeps every hub from starting.
  const held = takeWhenFree(join(squad.home, 'hub.lock'));
  process.kill(pid, 'SIGKILL');
  const lock = await held;
  // The dead one may still be listed: the relay had started it.
  await until('the relay tries to start a hub', () =>
    childrenOf(client.child.pid!).some(child => child !== pid),
  );

  const malformed = '{"jsonrpc": "2.0", "id"';
  const calls = ['one', 'two'].map(task =>
    client.call('start_squad_members', {
      members: [{ roleId: 'coder', task: `\`\`\`script\nreport ${task}\n\`\`\`` }],
    }),
  );
  client.send(malformed, '[]', { jsonrpc: '2.0', id: { no: 'id' }, method: 'ping' });
  const question = client.request('tools/list');
  lock.release();

  const [first, second] = await Promise.all(calls.map(id => client.told<Squad>(id)));
  expect(first).toMatchObject({ members: [{ status: 'completed', rawStdout: 'one' }] });
  expect(second).toMatchObject({ members: [{ status: 'completed', rawStdout: 'two' }] });
  expect((await client.answer(question)).result).toMatchObject({ tools: expect.any(Array) });
  expect((await runs()).runs).toHaveLength(2);
  await until('the malformed lines are answered', () => client.answers(null).length === 3);
  expect(client.answers(null).map(({ error }) => error?.code)).toEqual([-32700, -32600, -32600]);
});

test('a notification stream continues on the next hub, and the client gets only one acknowledgement', async () => {
  const client = new RawMcp(squad);
  const discovered = await client.ask('server/discover', { _meta: ENVELOPE });
  expect(discovered.result).toBeDefined();
  client.send({
    jsonrpc: '2.0',
    id: 'stream',
    method: 'subscriptions/listen',
    params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
  });
  const LISTENING = 'notifications/subscriptions/acknowledged';
  await until('the stream has begun', () => client.notices(LISTENING).length > 0);
  await killHub();
  const told = await client.told(client.call('list_running', {}, ENVELOPE));
  expect(told).toEqual({ agents: [], count: 0 });
  expect(client.notices(LISTENING)).toHaveLength(1);
  expect(client.answers('stream')).toEqual([]);
  client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'stream' } });
  expect(await client.close()).toMatchObject({ code: 0, stderr: '' });
});

test('squad log -f goes on reading when the hub is killed meanwhile', async () => {
  const { runIds } = await squad.json<{ runIds: [string] }>([
    'run',
    'coder',
    waitingTask(),
    '--engine',
    'scripted',
    '--detach',
  ]);
  const reader = squad.start(['log', '-f', runIds[0]]);
  let seen = '';
  reader.stdout!.setEncoding('utf8').on('data', chunk => {
    seen += chunk;
  });
  await until('it reads', () => seen.includes('half done'));
  await killHub();
  writeFileSync(go(), '');
  await until('it reads to the end', () => reader.exitCode !== null);
  expect([reader.exitCode, seen.split('half done').length - 1]).toEqual([0, 1]);
});

/** The lock, as soon as its holder is dead. */
async function takeWhenFree(file: string): Promise<{ release(): void }> {
  return until('the lock is free', () => takeLock(file));
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
