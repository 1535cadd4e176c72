import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallerPorts } from '../hub/callers.ts';
import { createRooms } from '../process/sandbox/rooms.ts';
import { createSandboxes } from '../process/sandbox/sandboxes.ts';
import { createRunOfProcess } from '../process/table/run-of-process.ts';
import { TurnsFixture } from '../process/testing/turn-fixture.ts';
import { createSupervisor } from '../process/turns/supervisor.ts';
import { newRunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { HttpPeers } from './http-peers.ts';

const turns = new TurnsFixture();
const tree = turns.path('tree');
const node = realpathSync(process.execPath);
const runOf = (id: string) => ({ id }) as Run;
const runs = new Map<string, Run>();

/** The hub's port: answers which run it takes the sender for, when the sender shows the token that the path names. */
const server = createServer(async ({ socket, url }, response) => {
  const token = url!.slice(1);
  const found =
    token === 'user' ? await peers.withUserToken(socket) : await peers.withRunToken(socket, runOf(token));
  const answer =
    found === null
      ? 'the user'
      : 'status' in found
        ? `refused: ${found.message}`
        : `${found.run.id} ${found.isProven}`;
  response.setHeader('connection', 'close').end(answer);
});
const rooms = createRooms({
  socket: turns.path('proxy.sock'),
  program: join(import.meta.dirname, '..', '..', 'dist', 'sandbox-proxy.cjs'),
  hubPort: async () => (server.address() as AddressInfo).port,
  warn: () => {},
});
const identities: CallerPorts = {
  liveRuns: () => [...runs.values()],
  run: async id => runs.get(id) ?? null,
  environment: async () => ({}),
  runOfProcess: createRunOfProcess(turns.runsDir),
  // As for a process that is older than every run: a room is stronger than that.
  isUsers: async () => true,
};
const peers = new HttpPeers({ identities, runsDir: turns.runsDir, rooms });
const supervisor = createSupervisor({
  runsDir: turns.runsDir,
  sandboxes: createSandboxes({ path: process.env.PATH ?? '', rooms }),
});

beforeAll(async () => {
  mkdirSync(tree);
  writeFileSync(
    join(tree, 'ask.cjs'),
    `const [, , port, ...tokens] = process.argv;
    const { get } = require('node:http');
    const ask = token => new Promise(settle => get({ host: '127.0.0.1', port, path: '/' + token, agent: false }, answer => {
      let said = '';
      answer.on('data', chunk => { said += chunk; }).on('end', () => settle(said));
    }).on('error', error => settle(error.code)));
    (async () => { for (const token of tokens) console.log(await ask(token)); })();`,
  );
  await new Promise<void>(settle => server.listen(0, '127.0.0.1', settle));
});
afterAll(() => {
  rooms.close();
  server.close().closeAllConnections();
  turns.remove();
});

/** Callers that the hub recognises for an agent in a sandbox with this network, one for each token. `own` is its own run. */
async function takenFor(network: 'full' | 'none', ...tokens: string[]): Promise<string[]> {
  const turn = { ...turns.turn('true'), runId: newRunId() };
  mkdirSync(turns.folder(turn), { recursive: true });
  runs.set(turn.runId, runOf(turn.runId));
  const { port } = server.address() as AddressInfo;
  const shown = tokens.map(token => (token === 'own' ? turn.runId : token));
  const live = await supervisor.start(
    {
      ...turn,
      command: { ...turn.command, argv: [node, join(tree, 'ask.cjs'), String(port), ...shown] },
      cwd: tree,
      sandbox: {
        home: tree,
        mounts: [
          { path: tree, from: tree, access: 'read' },
          { path: dirname(node), from: dirname(node), access: 'read' },
        ],
        network,
        hosts: [],
      },
    },
    { keepLeftovers: false },
  );
  expect(await live.ended).toMatchObject({ exitCode: 0 });
  return turns.read(turn, 'stdout').trim().replaceAll(turn.runId, 'own').split('\n');
}

describe('an agent in a sandbox', () => {
  test('in a room is its own run by its own token, and nobody by any other', {
    tags: ['token-theft', 'acting-as-the-user'],
  }, async () => {
    expect(await takenFor('none', 'own', 'run_other', 'user', 'own')).toEqual([
      'own true',
      expect.stringContaining('refused: This is the token of another run'),
      expect.stringContaining("refused: An agent in a sandbox cannot use the user's token"),
      'own true',
    ]);
  });

  test('cannot use the token of a run in another room', { tags: ['token-theft'] }, async () => {
    await takenFor('none', 'own');
    const [other] = [...runs.keys()];
    expect(await takenFor('none', other!)).toEqual([expect.stringContaining('refused')]);
  });

  test('with the network of the machine is known by its process, as without a sandbox', {
    tags: ['token-theft'],
  }, async () => {
    expect(await takenFor('full', 'own', 'run_other', 'user')).toEqual([
      'own true',
      expect.stringContaining('refused: This is the token of another run'),
      'own true',
    ]);
  });
});
