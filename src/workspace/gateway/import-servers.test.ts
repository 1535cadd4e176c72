import { describe, expect, it } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { importServers } from './import-servers.ts';

const NOTHING = { servers: {} };
const imported = (text: string, existing: Pick<McpConfig, 'servers'> = NOTHING) =>
  importServers([{ file: '/w/mcp.json', text }], existing);

describe('servers of other clients', () => {
  it('comes from a .mcp.json', { tags: ['B8'] }, () => {
    const { servers, left } = imported(`{
      "mcpServers": {
        "filesystem": { "command": "npx", "args": ["-y", "server-filesystem@1.0.0", "."], "env": { "LEVEL": "\${LEVEL:-info}" } },
        "Linear (work)": { "type": "http", "url": "https://linear.example/mcp", "headers": { "Authorization": "Bearer \${LINEAR_KEY}" } },
        "old": { "type": "sse", "url": "https://old.example/sse" },
        "squad": { "command": "/usr/bin/node", "args": ["/x/bin/squad.cjs", "mcp"] },
        "team": { "command": "npx", "args": ["-y", "squad-mcp@1.2.3", "mcp"] }
      }
    }`);
    expect(servers.map(({ name, id, entry, variables }) => ({ name, id, entry, variables }))).toEqual([
      {
        name: 'filesystem',
        id: 'filesystem',
        entry: {
          command: 'npx',
          args: ['-y', 'server-filesystem@1.0.0', '.'],
          env: { LEVEL: `\${LEVEL}` },
          tools: ['*'],
        },
        variables: ['LEVEL'],
      },
      {
        name: 'Linear (work)',
        id: 'linear-work',
        entry: {
          type: 'http',
          url: 'https://linear.example/mcp',
          headers: { Authorization: `Bearer \${LINEAR_KEY}` },
          tools: ['*'],
        },
        variables: ['LINEAR_KEY'],
      },
      {
        name: 'old',
        id: 'old',
        entry: { type: 'sse', url: 'https://old.example/sse', tools: ['*'] },
        variables: [],
      },
    ]);
    expect(servers[0]?.notes).toEqual([
      'LEVEL has the default "info" in that file, but Squad needs it to be set',
    ]);
    expect(left.map(({ name, reason }) => [name, reason])).toEqual([
      ['squad', 'it is Squad itself'],
      ['team', 'it is Squad itself'],
    ]);
  });

  it('comes from a .cursor/mcp.json', { tags: ['B8'] }, () => {
    const { servers } = imported(`{
      "mcpServers": {
        "db": { "command": "\${userHome}/bin/db", "args": ["--root", "\${workspaceFolder}\${/}data"], "env": { "PG": "\${env:PG_URL}" } },
        "web": { "url": "https://web.example/mcp" }
      }
    }`);
    expect(servers.map(({ entry, variables }) => [entry, variables])).toEqual([
      [
        {
          command: `\${HOME}/bin/db`,
          args: ['--root', `\${WORKSPACE_ROOT}/data`],
          env: { PG: `\${PG_URL}` },
          tools: ['*'],
        },
        ['HOME', 'PG_URL'],
      ],
      [{ type: 'http', url: 'https://web.example/mcp', tools: ['*'] }, []],
    ]);
  });

  it('comes from a .vscode/mcp.json, with comments and what it asks for', { tags: ['B8'] }, () => {
    const { servers, left } = imported(`{
      // set up by hand
      "inputs": [{ "type": "promptString", "id": "github-token", "description": "GitHub token", "password": true }],
      "servers": {
        "GitHub": {
          "type": "stdio", "command": "docker", "args": ["run", "gh"], "cwd": "\${workspaceFolder}",
          "env": { "TOKEN": "\${input:github-token}", "PORT": 80, "OFF": null }, "envFile": "\${workspaceFolder}/.env",
        },
        "odd": { "command": "x", "args": ["\${command:pick}"] },
        "pipe": { "type": "http", "url": 5 },
        "none": {},
        "strange": { "type": "ws", "url": "wss://x.example" },
      },
    }`);
    expect(servers.map(({ id, entry, variables, notes }) => ({ id, entry, variables, notes }))).toEqual([
      {
        id: 'GitHub',
        entry: {
          command: 'docker',
          args: ['run', 'gh'],
          env: { TOKEN: `\${GITHUB_TOKEN}`, PORT: '80' },
          tools: ['*'],
        },
        variables: ['GITHUB_TOKEN'],
        notes: [
          'asks for GitHub token: set GITHUB_TOKEN',
          `its variables in \${workspaceFolder}/.env are not imported: set them, and name them in "env"`,
        ],
      },
    ]);
    expect(left.map(({ name, reason }) => [name, reason])).toEqual([
      ['odd', `\${command:pick} works only in the program that the file was written for`],
      ['pipe', 'url: Invalid input: expected string, received number'],
      ['none', 'it has neither a command nor a url'],
      ['strange', 'type "ws" is not known'],
    ]);
  });
});

it('a secret that stands in the file comes along, with a word about it', () => {
  const { servers } = imported(
    `{ "mcpServers": { "gh": { "command": "gh", "env": { "API_TOKEN": "abcdef-123456" } } } }`,
  );
  expect(servers[0]?.entry.env).toEqual({ API_TOKEN: 'abcdef-123456' });
  expect(servers[0]?.notes).toEqual([`contains a secret (API_TOKEN); use a variable instead: \${NAME}`]);
});

describe('names', () => {
  const ids = (names: string[], existing = NOTHING) =>
    imported(
      JSON.stringify({ mcpServers: Object.fromEntries(names.map(name => [name, { command: name }])) }),
      existing,
    ).servers.map(({ id }) => id);

  it('become ids of ours, each its own', () => {
    expect(
      ids([
        'My Server',
        'my_server',
        'MY-SERVER',
        '3d',
        '日本',
        'Squad!',
        'a'.repeat(41),
        `${'a'.repeat(41)}b`,
      ]),
    ).toEqual([
      'my-server',
      'my_server',
      'MY-SERVER',
      '3d',
      'server',
      'squad-2',
      'a'.repeat(24),
      `${'a'.repeat(22)}-2`,
    ]);
  });

  it('stay clear of what is there, and what is the same is there already', () => {
    const existing = McpConfig.parse({
      servers: { a: { command: 'other', tools: [] }, b: { command: 'b', tools: ['x'] } },
    });
    expect(ids(['a', 'b'], existing)).toEqual(['a-2']);
    expect(imported('{"mcpServers":{"B":{"command":"b"}}}', existing)).toMatchObject({
      servers: [],
      there: [{ name: 'B', id: 'b' }],
      left: [],
    });
  });

  it('of two files that say the same give one server', () => {
    const text = '{"mcpServers":{"a":{"command":"a"}}}';
    const { servers, there } = importServers(
      [
        { file: '/w/.mcp.json', text },
        { file: '/w/.cursor/mcp.json', text },
      ],
      NOTHING,
    );
    expect([servers.length, there[0]?.id]).toEqual([1, 'a']);
  });
});

it.each([
  ['{', '/w/mcp.json, line 1, column 2: '],
  ['{"mcpServers": {}, "mcpServers": {}}', 'line 1, column 20: the key "mcpServers" is repeated'],
  ['{}', 'has neither "mcpServers" nor "servers"'],
  ['{"mcpServers": []}', 'has neither "mcpServers" nor "servers"'],
])('a file of another form is refused: %s', (text, words) => {
  expect(() => imported(text)).toThrow(words);
});
