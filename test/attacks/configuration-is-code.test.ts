import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { amountOf, figure, figureTimeout } from '../faults/figures.ts';
import { BIN, TestSquad, until } from '../support/squad.ts';
import { type Agent, startAgents } from './agents.ts';
import { configure, upstreamsOf } from './config-file.ts';
import { restRoutes } from './doors.ts';
import { Recorded, toolNamed } from './recorded.ts';
import { SocketLine } from './socket-line.ts';

const squad = new TestSquad({ ENGINE_COMMAND: 'scripted', NODE: process.execPath, SQUAD: BIN });
const sentinel = join(squad.root, 'pwned');
const evil = { command: 'touch', args: [sentinel], tools: ['*'] };
const kept = new Recorded(squad.root, 'kept', { tools: [toolNamed('say')] });
const CONFIG = { servers: { kept: kept.block() }, shared: ['kept'] };
squad.env.SQUAD_AGENTS_DIR = join(squad.root, 'roles');
mkdirSync(squad.env.SQUAD_AGENTS_DIR);
// As much as any role can be granted.
writeFileSync(
  join(squad.env.SQUAD_AGENTS_DIR, 'lead.md'),
  '---\nspawn: true\npermission: full\nmcp: [kept, squad/squad_decision_record]\n---\nYou lead.\n',
);
let lead: Agent;

beforeAll(async () => {
  await squad.unlimited();
  await configure(squad, CONFIG);
  [lead] = (await startAgents(squad, 'lead')) as [Agent];
  await lead.sees('kept__say');
});
afterAll(() => squad[Symbol.asyncDispose]());

/** All that decides which programs run and with what. */
async function inForce(): Promise<object> {
  const { servers, state } = await squad.json<{ servers: { server: string }[]; state: string }>([
    ...['mcp', 'status'],
  ]);
  const files = [...filesIn(join(squad.root, 'user')), ...filesIn(squad.env.SQUAD_AGENTS_DIR!)];
  const own = ['env', 'prices.json', 'token'].map(name => join(squad.home, name));
  own.push(join(squad.workspace, '.squad', 'mcp-config.json'), join(squad.workspace, '.squad', 'squad.json'));
  return {
    state,
    servers: servers.map(({ server }) => server),
    trusted: trusted(),
    settings: await squad.json(['config', 'show']),
    files: [...files, ...own].map(file => [file, existsSync(file) && hashOf(file)]),
  };
}

/** The files trusted in `trust.json`, without those that `squad init` creates in a folder of its own. */
function trusted(): string[] {
  const { files } = JSON.parse(readFileSync(join(squad.home, 'trust.json'), 'utf8')) as { files: object };
  return Object.entries(files)
    .filter(([file]) => !file.startsWith(join(squad.root, 'elsewhere')))
    .map(entry => JSON.stringify(entry));
}

/** Whatever an operation may call the thing it takes, a new program is in it. */
const INPUTS = [
  {},
  { servers: { evil }, shared: ['evil'] },
  { server: 'evil', ...evil },
  { name: 'evil', url: 'http://127.0.0.1:9/', headers: {}, type: 'http' },
  {
    config: { servers: { evil } },
    file: '.squad/mcp-config.json',
    content: JSON.stringify({ servers: { evil } }),
  },
  { files: ['.squad/mcp-config.json'], yes: true, remove: false },
  { path: '.squad/mcp-config.json', trusted: true, sha256: 'x' },
  { key: 'mcp.servers', value: JSON.stringify({ evil }) },
  { key: 'limits.depth', value: '9' },
  { server: 'kept', tool: 'say', hashes: ['x'] },
  {
    env: { PATH: squad.root, NODE_OPTIONS: `--require ${sentinel}` },
    command: 'sh',
    args: ['-c', `touch ${sentinel}`],
  },
  { engine: `touch ${sentinel}`, runTemplate: `touch ${sentinel}`, prompt: 'x', role_id: 'coder' },
];

test('no operation adds or edits a server, a command, an address or an environment for an agent, as a tool or over the socket', {
  tags: ['R32', 'configuration-is-code'],
}, async () => {
  const before = await inForce();
  for (const { name } of OPERATIONS) {
    using socket = await SocketLine.open(squad, { token: lead.token });
    for (const [at, input] of INPUTS.entries()) {
      expect((await lead.call(name, input)).status).toBeLessThan(500);
      if (name === 'follow_events') continue; // goes on until its reader leaves
      const reply = await socket.ask(JSON.stringify({ id: at, operation: name, input, waitMs: 0 }));
      expect(reply, name).toContain(`"id":${at}`);
    }
    expect([name, existsSync(sentinel)]).toEqual([name, false]);
  }
  expect(await inForce()).toEqual(before);
  figure('R32', {
    reached: OPERATIONS.length,
    of: OPERATIONS.length,
    told: `${OPERATIONS.length} operations, as tools and over the socket, added no executable, each asked in ${INPUTS.length} ways`,
  });
});

test('no route that is registered does either, asked with the token of a run', {
  tags: ['R32'],
  timeout: figureTimeout(60_000),
}, async () => {
  const before = await inForce();
  const routes = restRoutes();
  const ways = amountOf(INPUTS.length, 3);
  for (const [at, { method, path }] of routes.entries()) {
    // Each route with others of them, so that few are enough in the suite.
    for (const input of [...INPUTS, ...INPUTS].slice(at % INPUTS.length).slice(0, ways)) {
      const query = new URLSearchParams(
        Object.entries(input).map(([key, value]): [string, string] => [
          key,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      );
      const url = new URL(method === 'GET' ? `${path}?${query}` : path, lead.url);
      const response = await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${lead.token}`,
          'content-type': 'application/json',
          'squad-workspace': squad.workspace,
        },
        ...(method === 'POST' && { body: JSON.stringify(input) }),
      });
      await response.text();
      expect(response.status, `${method} ${path}`).toBeLessThan(500);
    }
    expect([path, existsSync(sentinel)]).toEqual([path, false]);
  }
  expect(await inForce()).toEqual(before);
  figure('R32', {
    reached: routes.length,
    of: routes.length,
    told: `${routes.length} routes, found by reflection, added no executable, each asked in ${ways} ways`,
  });
});

test('no other word of the protocol does either', { tags: ['configuration-is-code'] }, async () => {
  const before = await inForce();
  const methods = [
    ...['servers/add', 'config/set', 'roots/list', 'sampling/createMessage', 'elicitation/create'],
    ...['resources/write', 'resources/subscribe', 'logging/setLevel', 'tasks/update', 'prompts/create'],
  ];
  for (const method of methods)
    for (const input of INPUTS.slice(0, 6)) expect((await lead.ask(method, input)).status).toBeLessThan(500);
  expect(await inForce()).toEqual(before);
});

/** Every command of ours as an agent would use it to get a program run; a command that is not here is a gap. */
const COMMANDS: Record<string, string> = {
  run: 'run --engine "touch pwned" lead x',
  status: 'status',
  watch: 'watch run_0000000000',
  ls: 'ls',
  search: 'search x',
  events: 'events',
  cost: 'cost',
  show: 'show run_0000000000',
  log: 'log run_0000000000',
  attach: 'attach run_0000000000 --take-over -y',
  wait: 'wait run_0000000000 --timeout 1s',
  reply: 'reply run_0000000000 x -d',
  tell: 'tell run_0000000000 x',
  interrupt: 'interrupt run_0000000000',
  retry: 'retry run_0000000000 --engine "touch pwned" -d',
  diff: 'diff run_0000000000',
  comment: 'comment run_0000000000 a.ts:1 x',
  export: 'export run_0000000000 -',
  adopt: 'adopt',
  cancel: 'cancel run_0000000000',
  'conversation list': 'conversation list',
  'conversation print': 'conversation print run_0000000000',
  'conversation export': 'conversation export run_0000000000 -o planted.jsonl',
  inbox: 'inbox',
  answer: 'answer ask_0000000000 yes',
  worktrees: 'worktrees',
  'worktrees prune': 'worktrees prune',
  review: 'review run_0000000000 --allow 9',
  overlap: 'overlap',
  integrate: 'integrate --check "touch pwned" -y',
  roles: 'roles',
  context: 'context',
  team: 'team',
  decisions: 'decisions',
  backlog: 'backlog',
  'backlog add': 'backlog add x',
  'backlog done': 'backlog done 1',
  'backlog reopen': 'backlog reopen 1',
  'backlog move': 'backlog move 1 --up',
  init: 'init --workspace "$ELSEWHERE"',
  trust: 'trust -y planted.json .squad/mcp-config.json',
  doctor: 'doctor',
  prune: 'prune --days 0',
  install: 'install cursor -y',
  demo: 'demo --help',
  'config show': 'config show',
  'config lint': 'config lint planted.json',
  'config get': 'config get engine',
  'config set': 'config set --project engine evil',
  'config unset': 'config unset limits.spawns_per_minute',
  audit: 'audit',
  'audit verify': 'audit verify',
  'db migrate': 'db migrate',
  'db move': 'db move',
  'db grant': 'db grant evil --apply',
  'cluster demo': 'cluster demo --help',
  open: 'open --no-browser',
  up: 'up',
  'hub start': 'hub start',
  'hub stop': 'hub stop --force',
  'hub status': 'hub status',
  'hub log': 'hub log',
  'hub join': 'hub join postgresql://evil@127.0.0.1:9/evil -y',
  'machines add': 'machines add box evil@localhost',
  'machines ls': 'machines ls',
  'machines doctor': 'machines doctor box',
  'machines drain': 'machines drain box',
  'machines rm': 'machines rm box',
  'mcp add': `mcp add evil --shared -- touch ${sentinel}`,
  'mcp import': 'mcp import planted.json --shared -y',
  'mcp remove': 'mcp remove kept',
  'mcp lint': 'mcp lint',
  'mcp status': 'mcp status',
  'mcp tools': 'mcp tools planted.subagent.yaml',
  'mcp approve': 'mcp approve -y',
  'mcp serve': 'mcp serve --config planted.subagent.yaml <planted.calls',
  acp: [
    'acp <planted.fifo >acp-out & exec 9>planted.fifo; sed -n 1p planted.acp >&9',
    ...['1', '2'].flatMap(id => [
      `until grep -q '"id":${id}' acp-out || ! kill -0 $!; do sleep 0.1; done`,
      'sed 1d planted.acp >&9',
    ]),
    'exec 9>&-; wait $!',
  ].join('; '),
  completion: 'completion bash',
};

const SUBAGENT = {
  models: [{ ref: 'near', id: 'x', type: 'openai', base_url: 'http://127.0.0.1:9/v1' }],
  subagent: { name: 'evil', description: 'Starts what it names' },
  defaults: { model: 'near' },
  mcpServers: { evil },
};
const CALLS = [
  {
    ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'evil', arguments: { prompt: 'x' } } },
];

const SESSION = [
  { id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } },
  {
    ...{ id: 2, method: 'session/new' },
    params: { cwd: squad.workspace, mcpServers: [{ name: 'evil', ...evil, args: [sentinel], env: [] }] },
  },
];

/** Refused to every agent, whatever its role. */
const FOR_THE_USER = [
  ...['trust', 'install', 'prune', 'config set', 'config unset', 'hub stop', 'hub join'],
  ...['attach', 'worktrees', 'worktrees prune', 'review', 'overlap', 'integrate'],
  ...['mcp add', 'mcp import', 'mcp remove', 'mcp approve', 'mcp tools'],
  ...['open', 'up', 'adopt', 'search', 'events', 'cost', 'comment', 'export'],
  ...['conversation list', 'conversation print', 'conversation export'],
  ...['backlog add', 'backlog done', 'backlog reopen', 'backlog move'],
  ...['machines add', 'machines ls', 'machines doctor', 'machines drain', 'machines rm'],
];

describe('no command of ours does either, run by an agent', { tags: ['configuration-is-code'] }, () => {
  test('and none is forgotten here', async () => {
    expect(Object.keys(COMMANDS).sort()).toEqual((await commandsOf([])).sort());
  });

  test.each([
    ['as it is', '"$NODE" "$SQUAD"', Object.keys(COMMANDS)],
    [
      'without its environment',
      'env -i HOME="$HOME" PATH="$PATH" SQUAD_HOME="$SQUAD_HOME" "$NODE" "$SQUAD"',
      FOR_THE_USER,
    ],
  ])(
    '%s',
    async (_, program, names) => {
      squad.write('planted.json', JSON.stringify({ mcpServers: { evil } }));
      squad.write('planted.subagent.yaml', JSON.stringify(SUBAGENT));
      squad.write(
        'planted.acp',
        SESSION.map(ask => `${JSON.stringify({ jsonrpc: '2.0', ...ask })}\n`).join(''),
      );
      squad.write('planted.calls', CALLS.map(call => `${JSON.stringify(call)}\n`).join(''));
      const before = await inForce();
      const lines = names.map(
        (name, at) => `(${program} ${COMMANDS[name]}) >out-${at} 2>&1 </dev/null; echo "${name}: $?" >>codes`,
      );
      squad.write('codes', '');
      // Two at a time, so that it takes half as long.
      const halves = [lines.filter((_, at) => at % 2 === 0), lines.filter((_, at) => at % 2 === 1)];
      squad.write(
        'all.sh',
        `rm -f planted.fifo; mkfifo planted.fifo; ELSEWHERE=$(mktemp -d "${squad.root}/elsewhere.XXXXXX"); (${halves[0]!.join('\n')}) & (${halves[1]!.join('\n')}) & wait\n`,
      );
      const { runIds } = await squad.json<{ runIds: string[] }>([
        // In a sandbox neither the program nor the hub is there.
        ...['run', '--sandbox', 'off', '-d', 'lead', 'x\n```script\nrun sh all.sh\n```'],
      ]);
      await until(
        'it has tried them all',
        async () =>
          (await squad.json<{ run: { endedAt: number | null } }>(['show', runIds[0]!])).run.endedAt !== null,
        240_000,
      );
      const codes = readFileSync(join(squad.workspace, 'codes'), 'utf8').trim().split('\n');
      expect(codes).toHaveLength(lines.length);
      for (const name of FOR_THE_USER) expect(codes).toContain(`${name}: 4`);
      expect(await inForce()).toEqual(before);
      expect([existsSync(sentinel), existsSync(join(squad.workspace, 'pwned'))]).toEqual([false, false]);
    },
    300_000,
  ); // each command is a process
});

describe('a trusted file', () => {
  test.each([
    ['one letter in a value', (text: string) => text.replace('"*"', '"+"')],
    ['a space', (text: string) => text.replace('{', '{ ')],
    ['a space at its end', (text: string) => `${text} `],
    [
      'another server',
      () => JSON.stringify({ ...CONFIG, servers: { ...CONFIG.servers, evil }, shared: ['evil', 'kept'] }),
    ],
  ])(
    'that differs in %s gives nothing until it is trusted again',
    { tags: ['configuration-is-code'] },
    async (_, change) => {
      const file = join(squad.workspace, '.squad', 'mcp-config.json');
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, change(text));
      await lead.sees();
      expect(await upstreamsOf(squad)).toEqual([]);
      expect(existsSync(sentinel)).toBe(false);
      writeFileSync(file, text);
      await lead.sees('kept__say');
    },
  );
});

/** Groups that do something by themselves. */
const DO_BOTH = ['audit', 'worktrees', 'backlog'];

async function commandsOf(path: string[]): Promise<string[]> {
  // `audit help` shows the audit log, `mcp --help` starts the server.
  const { stdout } = await squad.run([...path, path[0] === 'mcp' ? 'help' : '--help']);
  const names = stdout
    .split('\n\n')
    .filter(part => /^.*commands:\n/i.test(part))
    .flatMap(list => [...list.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!))
    .filter(name => name !== 'help');
  const found: string[] = [];
  for (const name of names) {
    const isGroup =
      path.length === 0 &&
      [...DO_BOTH, 'cluster', 'config', 'conversation', 'db', 'hub', 'machines', 'mcp'].includes(name);
    if (!isGroup || DO_BOTH.includes(name)) found.push([...path, name].join(' '));
    if (isGroup) found.push(...(await commandsOf([...path, name])));
  }
  return found;
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(file => statSync(file).isFile())
    .sort();
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
