import { expect, test } from 'vitest';
import { grantsOf } from '../../core/gateway/grants.ts';
import { OwnServers, ServerId } from '../../schema/mcp-config.ts';
import { SubagentServer } from '../../schema/subagent.ts';
import { Findings } from './findings.ts';
import { serverIds, serversOf } from './servers.ts';

function configOf(listed: Record<string, object>) {
  const findings = new Findings();
  const parsed = Object.fromEntries(
    Object.entries(listed).map(([name, each]) => [name, SubagentServer.parse(each)]),
  );
  const config = serversOf(parsed, { env: { TOKEN: 'a-long-token' }, folder: '/f', findings });
  return {
    config,
    found: findings.all.map(({ severity, path, message }) => `${severity} ${path}: ${message}`),
  };
}

test('each is in a form the gateway takes, and everybody has it', () => {
  const { config, found } = configOf({
    repo_coder: { command: 'coder', args: ['$TOKEN', 8080], env: { PORT: 1 }, type: 'stdio', timeout: 2 },
    web: { type: 'http', url: `https://mcp.example/\${TOKEN}`, headers: { Authorization: 'Bearer $TOKEN' } },
    bare: { url: 'https://mcp.example/' },
  });
  expect(found).toEqual([]);
  expect(OwnServers.parse(config)).toEqual(config);
  expect(config!.shared).toEqual(['repo_coder', 'web', 'bare']);
  expect(config!.servers).toMatchObject({
    repo_coder: { command: 'coder', args: [`\${TOKEN}`, '8080'], env: { PORT: '1' }, timeout: 2000 },
    web: {
      type: 'http',
      url: `https://mcp.example/\${TOKEN}`,
      headers: { Authorization: `Bearer \${TOKEN}` },
    },
    bare: { type: 'http', timeout: 300_000, instance: 'per-agent' },
  });
});

test('lists of tools add to each other, for a run without a role', () => {
  const lists = { enabledTools: ['read', 'write'], disabledTools: ['write'] };
  const { config } = configOf({
    both: { command: 'x', ...lists },
    all: { command: 'x', ...lists, toolFilter: 'all' },
  });
  const [both, all] = grantsOf(config!, null, []);
  expect(both!.tools).toEqual({ only: [new Set(['read', 'write'])], except: new Set(['write']) });
  expect(all!.tools).toEqual({ only: [], except: new Set() });
});

test('files beside the subagent file are found from any folder', () => {
  const { config, found } = configOf({
    reviewer: {
      command: 'squad',
      args: ['mcp', 'serve', '--config', `\${SUBAGENT_DIR}/review.subagent.yaml`],
    },
  });
  expect(found).toEqual([]);
  // A subagent is given as long as it may take.
  expect(config!.servers.reviewer).toMatchObject({
    ...{ args: ['mcp', 'serve', '--config', '/f/review.subagent.yaml'], timeout: 1_800_000 },
  });
});

test('a problem of a server is reported at its place', () => {
  const { found } = configOf({
    coder: { command: 'cpe', args: ['mcp', 'serve', '--config', './c.yaml'], headers: { a: 'b' } },
    web: { type: 'sse', url: 'http://mcp.example/', command: 'x', timeout: 90_000 },
    secret: { command: 'x', env: { API_KEY: 'sk-in-the-file' } },
    away: { type: 'http', url: 'http://169.254.169.254/' },
    npx: { command: 'npx', args: ['-y', 'server'] },
  });
  expect(found).toEqual([
    'warning mcpServers.coder.headers: "headers" has no effect: the server "coder" is a program that is started',
    'warning mcpServers.coder.command: this starts CPE, whose runs Squad cannot show, limit or stop one by one',
    'warning mcpServers.web.command: "command" has no effect: the server "web" is reached by its url',
    'warning mcpServers.web.timeout: a call may take from 0.1 to 1800 seconds: 1800 is used',
    'warning mcpServers.web.url: Traffic to mcp.example is not encrypted: the URL is http',
    'warning mcpServers.secret.env.API_KEY: This looks like a secret in a file that others read',
    'error mcpServers.away.url: Squad never connects to 169.254.169.254',
    'warning mcpServers.npx.args.1: server has no version, so it may be another program each time',
  ]);
});

test('none at all is none', () => {
  expect(configOf({})).toEqual({ config: null, found: [] });
});

test.each<[string[], string[]]>([
  [['files'], ['files']],
  [
    ['repo_coder', 'My Server!'],
    ['repo_coder', 'my-server'],
  ],
  [
    ['repo_coder', 'repo-coder'],
    ['repo_coder', 'repo-coder'],
  ],
  [
    ['a_b', 'a.b', 'A B'],
    ['a_b', 'a-b', 'a-b-2'],
  ],
  [
    ['squad', '', '日本', '1st'],
    ['squad-server', 'server', 'server-2', '1st'],
  ],
  [
    [`${'x'.repeat(40)}1`, `${'x'.repeat(40)}2`],
    ['x'.repeat(24), `${'x'.repeat(22)}-2`],
  ],
])('%j are %j', (names, expected) => {
  const ids = serverIds(names);
  expect(names.map(name => ids.get(name))).toEqual(expected);
  for (const id of ids.values()) expect(ServerId.safeParse(id).success).toBe(true);
});
