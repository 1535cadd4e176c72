import { describe, expect, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { type KnownToLint, lintMcpConfig } from './lint-config.ts';

const v = (name: string) => `$\{${name}}`;
const NOTHING: KnownToLint = { roles: null, env: null };
const local = (more: object = {}) => ({ command: 'node', tools: ['*'], ...more });
const remote = (url: string, more: object = {}) => ({ type: 'http', url, tools: ['*'], ...more });
const lint = (config: object, known: Partial<KnownToLint> = {}) =>
  lintMcpConfig(McpConfig.parse({ servers: {}, ...config }), { ...NOTHING, ...known }).map(
    ({ level, path, message, suggestion }) => ({ at: path.join('.'), level, message, suggestion }),
  );
/** One server that everybody has, so that only the rest is spoken of. */
const lintServer = (server: object, known: Partial<KnownToLint> = {}, id = 'it') =>
  lint({ servers: { [id]: server }, shared: [id] }, known);

test('nothing is said of a configuration that is in order', () => {
  const config = {
    servers: {
      github: remote('https://api.example/mcp', { headers: { Authorization: `Bearer ${v('TOKEN')}` } }),
      files: local({
        command: 'npx',
        args: ['-y', '@scope/files@1.2.3', v('WORKSPACE_ROOT')],
        cwd: v('SQUAD_ROOT'),
      }),
      browser: local({ instance: 'per-agent' }),
    },
    shared: ['files'],
    agentServers: { coder: ['github'], tester: ['browser'] },
    toolRestrictions: { coder: { github: { include: ['read'] }, files: { exclude: ['drop', 'd*'] } } },
    argumentRules: [
      {
        server: 'files',
        role: ['coder', 't*'],
        tool: 'w*',
        argument: 'path',
        under: [`${v('SQUAD_ROOT')}/a`],
      },
    ],
  };
  const known = {
    roles: ['coder', 'tester'],
    env: { TOKEN: 'long enough' },
    tools: { github: ['read'], files: ['drop'] },
  };
  expect(lint(config, known)).toEqual([]);
});

describe('references', () => {
  const servers = { github: local(), files: local({ tools: ['read', 'write'] }) };
  const shared = ['github', 'files'];

  test('to a server that is not there are errors, with the name that was meant', () => {
    const found = lint({
      ...{ servers, shared: ['github', 'file', 'files'], agentServers: { coder: ['githup'] } },
      toolRestrictions: { coder: { gitlab: { include: [] } } },
      argumentRules: [{ server: 'constructor', argument: 'x', maxLength: 1 }],
    });
    expect(found).toEqual([
      {
        at: 'shared.1',
        level: 'error',
        message: 'There is no server "file"',
        suggestion: 'Did you mean "files"?',
      },
      {
        at: 'agentServers.coder.0',
        level: 'error',
        message: 'There is no server "githup"',
        suggestion: 'Did you mean "github"?',
      },
      {
        at: 'toolRestrictions.coder.gitlab',
        level: 'error',
        message: 'There is no server "gitlab"',
        suggestion: 'Did you mean "github"?',
      },
      {
        at: 'argumentRules.0.server',
        level: 'error',
        message: 'There is no server "constructor"',
        suggestion: 'Available: github, files.',
      },
    ]);
  });

  test('to a role without a file are warnings, where the roles are known', () => {
    const config = {
      ...{ servers, shared, agentServers: { codr: ['files'] }, toolRestrictions: { testr: {}, '*': {} } },
      argumentRules: [{ server: 'files', role: ['reviewr', 'x*'], argument: 'x', maxLength: 1 }],
    };
    expect(lint(config)).toEqual([]);
    expect(lint(config, { roles: ['coder', 'tester', 'reviewer'] })).toMatchObject([
      { at: 'agentServers.codr', level: 'warning', suggestion: 'Did you mean "coder"?' },
      { at: 'toolRestrictions.testr', level: 'warning', suggestion: 'Did you mean "tester"?' },
      { at: 'argumentRules.0.role', level: 'warning', suggestion: 'Did you mean "reviewer"?' },
    ]);
  });

  test('to a tool that is not there are errors where something would not be taken away', () => {
    const config = {
      ...{ servers: { files: local({ tools: ['reed', 'read'] }) }, shared: ['files'] },
      toolRestrictions: {
        coder: { files: { exclude: ['delet', 'w*'] } },
        tester: { files: { include: ['read', 'reed'] } },
      },
      argumentRules: [{ server: 'files', tool: 'wriite', argument: 'x', maxLength: 1 }],
    };
    expect(lint(config)).toEqual([]);
    expect(lint(config, { tools: { files: ['read', 'write', 'delete'] } })).toMatchObject([
      { at: 'servers.files.tools.0', level: 'warning', suggestion: expect.stringContaining('"read"') },
      {
        at: 'toolRestrictions.coder.files.exclude.0',
        level: 'error',
        suggestion: expect.stringContaining('"delete"'),
      },
      { at: 'toolRestrictions.tester.files.include.1', level: 'warning' },
      { at: 'argumentRules.0.tool.0', level: 'error', suggestion: expect.stringContaining('"write"') },
    ]);
  });

  test('by a pattern where only names count are errors', () => {
    const config = {
      ...{ servers: { files: local({ tools: ['read_*'] }) }, shared: ['files'] },
      toolRestrictions: { coder: { files: { include: ['*', 'r*'] } } },
    };
    expect(lint(config).map(({ at, level }) => [at, level])).toEqual([
      ['servers.files.tools.0', 'error'],
      ['toolRestrictions.coder.files.include.1', 'error'],
    ]);
  });

  test('that leave a role nothing are warnings', () => {
    const restrict = (include: string[]) =>
      lint({ servers, shared, toolRestrictions: { coder: { files: { include } } } });
    expect(restrict(['drop'])).toMatchObject([
      { level: 'warning', message: expect.stringContaining('coder gets no tools') },
    ]);
    for (const include of [['read', 'drop'], ['*']]) expect(restrict(include)).toEqual([]);
  });

  test('that nobody makes to a server are a warning', () => {
    const config = { servers, shared: ['files'] };
    expect(lint(config)).toEqual([]);
    expect(lint(config, { roleFiles: [] })).toMatchObject([{ at: 'servers.github', level: 'warning' }]);
    const role = { id: 'coder', file: 'roles/coder.md', mcp: ['github/read'], isTrusted: true };
    expect(lint(config, { roleFiles: [role] })).toEqual([]);
    expect(lint(config, { roleFiles: [{ ...role, isTrusted: false }] })).toMatchObject([
      { message: 'Only roles/coder.md gives the server github to a role, and that file is not trusted' },
    ]);
  });
});

describe('variables', () => {
  const server = remote(`https://${v('HOST')}/`, {
    headers: { A: `${v('A')} ${v('A')}`, B: v('WORKSPACE_ROOT') },
  });

  test('that are not set or empty are errors, where it is known what is set', () => {
    expect(lintServer(server)).toEqual([]);
    expect(
      lintServer(server, { env: { HOST: '' } }).map(({ at, level, message }) => [at, level, message]),
    ).toEqual([
      ['servers.it.url', 'error', 'The variable HOST is not set, so the server it is left out'],
      ['servers.it.headers.A', 'error', 'The variable A is not set, so the server it is left out'],
    ]);
    expect(lintServer(local({ args: [v('toString')] }), { env: {} })).toHaveLength(1);
  });

  test('with values too short to be hidden are a warning, without the value', () => {
    const found = lintServer(server, { env: { HOST: 'example.org', A: 'qq7' } });
    expect(found).toMatchObject([{ at: 'servers.it.headers.A', level: 'warning' }]);
    expect(JSON.stringify(found)).not.toContain('qq7');
  });

  test.each([`$\{A`, `$\{A:-x}`, `$\{}`, `$\{1}`])('that are malformed, as %s, are errors', text => {
    expect(lintServer(local({ args: ['ok', `a ${text}`] }))).toMatchObject([
      { at: 'servers.it.args.1', level: 'error', message: expect.stringContaining(`"${text}`) },
    ]);
  });

  test('other than the roots in a folder of a rule are errors', () => {
    const rule = { server: 'it', argument: 'p', under: ['src', `${v('HOME')}/x`] };
    expect(lint({ servers: { it: local() }, shared: ['it'], argumentRules: [rule] })).toMatchObject([
      { at: 'argumentRules.0.under.1', level: 'error' },
    ]);
  });
});

describe('a server', () => {
  test('with a secret in the file is a warning that does not repeat it', () => {
    const found = [
      ...lintServer(local({ env: { API_TOKEN: 'hunter2hunter2', MODE: 'production', AUTH: 'none' } })),
      ...lintServer(
        remote('https://a.example/?key=hunter2hunter2', {
          headers: { Cookie: 'hunter2hunter2', Accept: 'x' },
        }),
      ),
      ...lintServer(local({ args: ['postgres://me:hunter2hunter2@db/x', `postgres://me:${v('PW')}@db/x`] })),
    ];
    expect(found.map(({ at, level }) => [at, level])).toEqual([
      ['servers.it.env.API_TOKEN', 'warning'],
      ['servers.it.url', 'warning'],
      ['servers.it.headers.Cookie', 'warning'],
      ['servers.it.args.0', 'warning'],
    ]);
    expect(found[0]!.suggestion).toContain(v('API_TOKEN'));
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  test.each([
    ['http://api.example/mcp', 'warning'],
    ['http://127.0.0.1:3000/', null],
    ['http://localhost/', null],
    ['http://[::1]:1/', null],
    ['http://127.0.0.1.example/', 'warning'],
    ['http://localhost.example/', 'warning'],
    ['https://api.example/', null],
    [`http://${v('HOST')}/`, null],
    [v('URL'), null],
    ['ftp://a.example/', 'error'],
    ['not a url', 'error'],
  ])('at %s is %j', (url, level) => {
    expect(lintServer(remote(url)).map(found => found.level)).toEqual(level === null ? [] : [level]);
  });

  test.each([
    [['-y', '@scope/files'], 'servers.it.args.1'],
    [['files'], 'servers.it.args.0'],
    [['files@latest'], 'servers.it.args.0'],
    [['-y', '@scope/files@1.2.3', 'x'], null],
    [['files@2'], null],
    [['-y'], null],
    [[v('PACKAGE')], null],
  ])('started by npx %j is spoken of at %j', (args, at) => {
    expect(lintServer(local({ command: '/usr/bin/npx', args })).map(found => found.at)).toEqual(
      at === null ? [] : [at],
    );
    expect(lintServer(local({ command: 'node', args }))).toEqual([]);
  });

  test('that goes on from what it was asked before should not be shared', () => {
    const playwright = local({ args: ['@playwright/mcp@1.0.0'] });
    expect(lintServer(playwright)).toMatchObject([
      { level: 'warning', suggestion: expect.stringContaining('per-agent') },
    ]);
    expect(lintServer({ ...playwright, instance: 'per-agent' })).toEqual([]);
    expect(lintServer(remote('https://a.example/'), {}, 'shell')).toHaveLength(1);
  });
});

test('a number in the path of an argument is likely not meant', () => {
  const argumentRules = [{ server: 'it', argument: 'list.0.path', deny: ['x'] }];
  expect(lint({ servers: { it: local() }, shared: ['it'], argumentRules })).toMatchObject([
    { at: 'argumentRules.0.argument', level: 'warning' },
  ]);
});

test.each(['http://169.254.169.254/mcp', 'http://[fe80::1]/mcp', 'ftp://host/mcp'])(
  'an address that is never connected to is an error: %s',
  url => {
    expect(lintServer(remote(url))).toMatchObject([{ at: 'servers.it.url', level: 'error' }]);
  },
);
