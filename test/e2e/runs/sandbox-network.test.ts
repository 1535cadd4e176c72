import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownProcesses } from '../../../src/process/table/socket-holder.ts';
import type { Run } from '../../../src/schema/run.ts';
import { GitSquad, script } from '../../support/git-squad.ts';
import { isAlive, until } from '../../support/squad.ts';

/** Asks the proxy for an address and prints the answer. Plain `fetch` does not use a proxy for the loopback device. */
const ASK = `const { request } = require('node:http');
const { hostname, port } = new URL(process.env.HTTP_PROXY);
request({ hostname, port, path: process.argv[2] }, answer => {
  console.log(answer.statusCode);
  answer.pipe(process.stdout);
}).on('error', error => console.log(error.code)).end();
`;

let requests = 0;
const host = createServer((_request, response) => response.end(`hello ${++requests}\n`));
const squad = new GitSquad({ coder: '---\nisolation: worktree\n---\nYou code.' });
let allowed: string;

beforeAll(async () => {
  await new Promise<void>(settle => host.listen(0, '127.0.0.1', settle));
  const { port } = host.address() as AddressInfo;
  allowed = `http://127.0.0.1:${port}/`;
  const hosts = `isolation: worktree\nhosts: ["127.0.0.1:${port}"]`;
  squad.role('online', `---\n${hosts}\n---\nYou code.`);
  squad.role('offline', `---\n${hosts}\nnetwork: none\n---\nYou code.`);
  squad.write('ask.cjs', ASK);
  squad.git('add', '-A');
  squad.git('commit', '-qm', 'Ask');
  await squad.unlimited();
});
afterAll(async () => {
  await squad[Symbol.asyncDispose]();
  host.close().closeAllConnections();
});

interface Shown {
  run: Run;
  result: { result: string; evidence: { note: string | null } };
}

async function started(args: string[], ...steps: string[]): Promise<string> {
  const { runIds } = await squad.json<{ runIds: [string] }>([
    ...['run', '-d', ...args, `Do it.${script(...steps)}`],
  ]);
  return runIds[0];
}

async function shown(id: string): Promise<Shown> {
  await squad.run(['wait', id]);
  return squad.json<Shown>(['show', id]);
}

const ask = (url: string) => `run node ask.cjs ${url}`;

test.each([
  ['models', ['online']],
  ['none', ['offline']],
  ['none', ['--network', 'none', 'online']],
])(
  'with network %s (%s) a listed host is reached; another is refused and in the evidence',
  {
    tags: ['I2'],
  },
  async (network, args) => {
    const steps = [ask(allowed), ask('http://refused.example:8080/'), 'call squad_status'];
    const id = await started(args, ...steps);
    const { run, result } = await shown(id);
    expect(run).toMatchObject({ status: 'completed', options: { sandbox: { level: 'workspace', network } } });
    expect(result.result).toMatch(/200\nhello \d+/);
    expect(result.result).toContain('403\nThe sandbox of this run does not allow refused.example:8080');
    const refused = 'its sandbox refused connections to refused.example:8080';
    expect(run.evidence?.note).toContain(refused);
    const { stdout } = await squad.run(['show', id]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(refused);
    expect(stdout).toContain(`network: ${network}`);
  },
);

test('a limit by the call alone leaves no host, and a full network needs none', {
  tags: ['I2'],
}, async () => {
  const { run, result } = await shown(await started(['--network', 'models', 'coder'], ask(allowed)));
  expect(run.options.sandbox).toMatchObject({ level: 'workspace', network: 'models', hosts: [] });
  expect(result.result).toContain('403');
  const full = await shown(await started(['coder'], 'run test -z "$HTTP_PROXY"'));
  expect(full.run.options.sandbox).toMatchObject({ level: 'workspace', network: 'full' });
});

test('the hub is killed: the agent reaches its host meanwhile, and the next hub by the same address', {
  tags: ['I2'],
}, async () => {
  const id = await started(
    ['online'],
    ...['run touch started', 'await go-1', `${ask(allowed)} >answer.new && mv answer.new answer`],
    ...['await go-2', 'call squad_status', ask(allowed), ask('http://refused.example/')],
  );
  const tree = (await squad.shown<Shown>(id)).run.directory;
  const inTree = (name: string) => join(tree, name);
  await until('the agent is running', () => existsSync(inTree('started')));
  const pid = await squad.hubPid();
  process.kill(pid, 'SIGKILL');
  await until('the hub is gone', () => !isAlive(pid));
  writeFileSync(inTree('go-1'), '');
  await until('its host has answered', () => existsSync(inTree('answer')));
  expect(readFileSync(inTree('answer'), 'utf8')).toMatch(/^200\nhello/);
  expect(await squad.hubPid()).not.toBe(pid);
  writeFileSync(inTree('go-2'), '');
  const { run, result } = await shown(id);
  expect(run).toMatchObject({ status: 'completed', error: null });
  expect(result.result).toMatch(/200\nhello/);
  expect(run.evidence?.note).toContain('refused.example:80');
  expect(run.evidence?.note).not.toContain('proxy process');
});

test('the proxy process is killed: nothing is reached any more, and the evidence says why; the next run has a new one', {
  tags: ['I2'],
}, async () => {
  const id = await started(['online'], 'run touch started', 'await go', ask(allowed));
  const tree = (await squad.shown<Shown>(id)).run.directory;
  await until('the agent is running', () => existsSync(join(tree, 'started')));
  const [proxy] = proxies();
  process.kill(proxy!, 'SIGKILL');
  await until('the proxy process is gone', () => !isAlive(proxy!));
  const before = requests;
  writeFileSync(join(tree, 'go'), '');
  const { run, result } = await shown(id);
  expect(result.result).toContain('ECONNREFUSED');
  expect(requests).toBe(before);
  expect(run.evidence?.note).toContain('the proxy process of its sandbox ended');
  const next = await shown(await started(['online'], ask(allowed)));
  expect(next.result.result).toMatch(/200\nhello/);
  expect(next.run.evidence?.note ?? '').not.toContain('proxy process');
});

test('nothing is left when hub, wrapper and bubblewrap are killed', { tags: ['S12'] }, async () => {
  for (const who of ['wrapper', 'outer', 'init'] as const) {
    const id = await started(['online'], 'run touch started', 'hang');
    const tree = (await squad.shown<Shown>(id)).run.directory;
    await until('the agent is running', () => existsSync(join(tree, 'started')));
    const wrapper = Number(readFileSync(join(squad.home, 'runs', id, 'turn-1', 'pid'), 'utf8'));
    const outer = childrenOf(wrapper).find(pid => nameOf(pid) === 'bwrap')!;
    const [init] = childrenOf(outer);
    const line = [wrapper, outer, init!, ...childrenOf(init!)];
    const hub = await squad.hubPid();
    process.kill(hub, 'SIGKILL');
    process.kill({ wrapper, outer, init: init! }[who], 'SIGKILL');
    await until('nothing of the turn is left', () => !line.some(isAlive));
    await until('the hub is gone', () => !isAlive(hub));
    const { run } = await shown(id);
    expect(run.status).toBe(who === 'wrapper' ? 'lost' : 'error');
  }
  await squad.run(['hub', 'stop']);
  await until('the proxy process has ended', () => proxies().length === 0);
});

const proxies = (): number[] =>
  ownProcesses().filter(pid => fileOf(pid, 'cmdline').includes(join(squad.home, 'hub-proxy.sock')));
const childrenOf = (pid: number): number[] =>
  fileOf(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
const nameOf = (pid: number): string => fileOf(pid, 'comm').trim();

function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return ''; // ended meanwhile
  }
}
