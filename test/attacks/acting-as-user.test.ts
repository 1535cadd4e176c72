import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hubPid } from '../../src/link/hub-record.ts';
import { withoutSandbox } from '../support/confine-by-default.ts';
import { hubUrl, RunningAgent } from '../support/running-agent.ts';
import { BIN, isAlive, TestSquad, until } from '../support/squad.ts';

const squad = new TestSquad();
const node = process.execPath;

/** Asks the hub over HTTP with a token that it reads from a file; leaves status and body. With `leave` it goes at once. */
const ASK = `
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
const [file, url, path, out, how] = process.argv.slice(2);
const text = readFileSync(file, 'utf8').trim();
const token = text.startsWith('{') ? JSON.parse(text).token : text;
const body = JSON.stringify({ key: 'stop.grace_ms', value: '777' });
const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
if (how === 'leave') {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname, () => {
    const lines = ['POST ' + path + ' HTTP/1.1', 'Host: ' + host, ...Object.entries(headers).map(each => each.join(': '))];
    socket.end([...lines, 'Content-Length: ' + body.length, '', body].join('\\r\\n'), () => {
      writeFileSync(out, 'gone');
      process.exit();
    });
  });
} else {
  const response = await fetch(new URL(path, url), how === 'post' ? { method: 'POST', headers, body } : { headers });
  writeFileSync(out, response.status + ' ' + (await response.text()));
}
`;

/** Puts a program out of its run: its own session, no parent, no mark but this one, no output. */
const detached = (command: string, mark = '') =>
  `setsid -f env -i ${mark} sh -c '${command} &' </dev/null >/dev/null 2>&1`;

let url: URL;
let sibling: RunningAgent;
beforeAll(async () => {
  await squad.unlimited();
  squad.write('ask.mjs', ASK);
  url = await hubUrl(squad);
  // Until the squad ends it: a wait for a file has an end.
  sibling = await RunningAgent.start(squad, 'coder', 'hang');
});
afterAll(() => squad[Symbol.asyncDispose]());

const heardIn = (file: string) =>
  until('the attack is over', () => existsSync(file) && readFileSync(file, 'utf8').trim());

/** Output of this command when an agent runs it. The command writes to the file that it is given. */
async function attack(command: (out: string) => string): Promise<string> {
  const out = join(squad.workspace, `heard-${process.hrtime.bigint()}`);
  await using _agent = await RunningAgent.start(squad, 'coder', `run ${command(out)}`);
  // In a sandbox a detached program ends with its agent, so the agent may end only after it.
  return await heardIn(out);
}

/** The token is copied into the agent's folder, because the original is not visible in a sandbox. */
function ask(token: string, path: string, out: string, how = ''): string {
  const copy = join(squad.workspace, 'token');
  copyFileSync(token, copy);
  return [node, join(squad.workspace, 'ask.mjs'), copy, url.origin, path, out, how].join(' ');
}
const userToken = () => join(squad.home, 'token');
const isChanged = async () => JSON.stringify(await squad.json(['config', 'show'])).includes('777');

describe("the user's token over HTTP", () => {
  test('is the user in the hands of the user', async () => {
    const authorization = `Bearer ${readFileSync(userToken(), 'utf8').trim()}`;
    expect((await fetch(new URL('/api/hub', url), { headers: { authorization } })).status).toBe(200);
  });

  test.each([
    ['as it is', (command: string) => command],
    ['with an empty environment', (command: string) => `env -i ${command}`],
    ['in a session of its own', (command: string) => `setsid ${command}`],
  ])('is the run in the hands of an agent, %s', { tags: ['acting-as-the-user'] }, async (_how, inside) => {
    expect(await attack(out => inside(ask(userToken(), '/api/settings', out, 'post')))).toMatch(
      /^403 .*NOT_ALLOWED/,
    );
    expect(await isChanged()).toBe(false);
  });

  test('is nothing in the hands of somebody who has gone before the hub could look', async () => {
    await attack(out => ask(userToken(), '/api/settings', out, 'leave'));
    // Requests are answered in turn: this one comes after.
    expect(await isChanged()).toBe(false);
  });
});

describe("a run's token over HTTP", () => {
  test('is good inside that run', async () => {
    const agent = await RunningAgent.start(squad, 'coder', 'call squad_status');
    await agent.end();
    expect((await squad.run(['log', agent.id])).stdout).toContain(agent.id);
  });

  test.each<[string, (command: string) => string]>([
    ['as it is', command => command],
    ['with the mark of that run', command => `env SQUAD_RUN_ID=${sibling.id} ${command}`],
    ['detached', command => detached(command)],
    ['detached with the mark of that run', command => detached(command, `SQUAD_RUN_ID=${sibling.id}`)],
  ])('is refused in the hands of another agent, %s', { tags: ['acting-as-the-user'] }, async (_how, how) => {
    const heard = await attack(out => how(ask(sibling.file, '/api/hub', out)));
    expect(heard).toMatch(/^403 .*another run/);
  });
});

describe('with the hub within reach', () => {
  // An agent in a sandbox has neither the hub's socket nor the program.
  beforeAll(() => withoutSandbox(squad));

  test('the identity of another run is refused also to a program that an agent detached', async () => {
    const request = JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    });
    squad.write('request', `${request}\n`);
    const relay = `${node} ${BIN} mcp --identity ${sibling.file} < ${squad.workspace}/request`;
    const heard = await attack(out =>
      detached(`{ ${relay} > ${out}.new 2>&1; mv ${out}.new ${out}; }`, 'PATH=/usr/bin:/bin'),
    );
    expect(heard).toContain('NOT_ALLOWED');
  });

  test('a hub that an agent starts has the environment of the last one that the user started', {
    tags: ['acting-as-the-user'],
  }, async () => {
    const before = await squad.json<{ database: string; pid: number }>(['hub', 'start']);
    const out = join(squad.root, 'restarted');
    const other = join(squad.root, 'other.db');
    await using _agent = await RunningAgent.start(
      squad,
      'coder',
      'await hub-is-gone',
      `run MCP_DATABASE_PATH=${other} ${node} ${BIN} hub start --json > ${out}.new 2>&1; mv ${out}.new ${out}`,
    );
    process.kill(before.pid, 'SIGKILL');
    await until('it is gone', () => !isAlive(before.pid));
    squad.write('hub-is-gone', '');
    await heardIn(out);
    const after = await squad.json<{ database: string; pid: number }>(['hub', 'status']);
    expect(after.pid).not.toBe(before.pid);
    expect(after.database).toBe(before.database);
    expect(existsSync(other)).toBe(false);
  });

  test('a hub does not get the environment of an agent whose command ends before the hub checks', {
    tags: ['acting-as-the-user'],
  }, async () => {
    const before = await squad.json<{ database: string; pid: number }>(['hub', 'start']);
    const other = join(squad.root, 'orphan.db');
    const hub = join(dirname(BIN), '..', 'dist', 'hub.cjs');
    await using _agent = await RunningAgent.start(
      squad,
      'coder',
      'await hub-is-gone-again',
      `run env MCP_DATABASE_PATH=${other} setsid -f ${node} ${hub} $$ </dev/null >/dev/null 2>&1`,
    );
    process.kill(before.pid, 'SIGKILL');
    await until('it is gone', () => !isAlive(before.pid));
    squad.write('hub-is-gone-again', '');
    const pid = await until('the next hub is there', () => {
      const next = hubPid(squad.home);
      return next !== null && next !== before.pid && next;
    });
    const after = await squad.json<{ database: string; pid: number }>(['hub', 'status']);
    expect(after).toMatchObject({ pid, database: before.database });
    expect(existsSync(other)).toBe(false);
    expect(readFileSync(join(squad.home, 'hub-environment.json'), 'utf8')).not.toContain(other);
  });

  test('a hook of a tmux server that an agent started is that run', {
    tags: ['acting-as-the-user'],
  }, async () => {
    const server = `tmux -f /dev/null -L attack-${process.pid}`;
    const stop = `SQUAD_HOME=${squad.home} ${node} ${BIN} hub stop`;
    const heard = await attack(
      out =>
        `${server} new-session -d -s a "sleep 60" && ${server} set-hook -g after-new-window "run-shell '${stop} > ${out}.new 2>&1; mv ${out}.new ${out}'" && ${server} new-window "sleep 60"; true`,
    );
    expect(heard).toContain('NOT_ALLOWED');
  });
});
