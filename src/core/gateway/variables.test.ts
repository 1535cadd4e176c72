import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../redaction/redactor.ts';
import { McpConfig, Server } from '../../schema/mcp-config.ts';
import { literalSecrets, resolveServer, sourceHash, variablesIn } from './variables.ts';

/** So that no reader and no linter takes it for a template. */
const v = (name: string) => `$\{${name}}`;
const roots = { WORKSPACE_ROOT: '/w/tree', SQUAD_ROOT: '/w' };
const local = (more: object) => Server.parse({ command: 'node', tools: ['*'], ...more });
const remote = (more: object) =>
  Server.parse({ type: 'http', url: 'https://a.example/mcp', tools: ['*'], ...more });
const resolve = (server: Server, variables: Record<string, string> = {}) =>
  resolveServer('it', server, { variables, roots });
const resolved = (server: Server, variables: Record<string, string> = {}) => {
  const resolution = resolve(server, variables);
  if (!('server' in resolution)) throw new Error(JSON.stringify(resolution));
  return resolution;
};

describe('variables', () => {
  test('are filled in wherever they count, roots included', { tags: ['B2'] }, () => {
    const server = local({
      ...{ command: `${v('BIN')}/run`, args: ['--root', v('WORKSPACE_ROOT'), `${v('A')}${v('A')}`] },
      ...{ env: { TOKEN: v('A') }, cwd: `${v('SQUAD_ROOT')}/sub` },
    });
    expect(resolved(server, { A: 'value-a', BIN: '/opt' }).server).toEqual({
      ...{ kind: 'stdio', command: '/opt/run', args: ['--root', '/w/tree', 'value-avalue-a'] },
      ...{ env: { TOKEN: 'value-a' }, cwd: '/w/sub' },
    });
    const web = remote({ type: 'sse', url: `https://${v('HOST')}/x`, headers: { 'X-Key': `k ${v('A')}` } });
    expect(resolved(web, { A: 'value-a', HOST: 'h.example' }).server).toEqual({
      ...{ kind: 'sse', url: 'https://h.example/x', headers: { 'X-Key': 'k value-a' } },
    });
  });

  test('leave a server in the workspace that says nothing of a folder', () => {
    expect(resolved(local({})).server).toMatchObject({ cwd: '/w' });
  });

  test('have values that are never read again, whatever is in them', () => {
    const nasty = `$& $1 ${v('B')} ; rm -rf / \` "$(x)`;
    const { server } = resolved(local({ args: [v('A'), v('B')] }), { A: nasty, B: 'value-b' });
    expect(server).toMatchObject({ args: [nasty, 'value-b'] });
  });

  test('that are not set or empty are named, each once, and nothing else is given', { tags: ['B2'] }, () => {
    const server = local({ args: [v('A'), v('B'), v('A')], env: { X: v('C'), Y: v('toString') } });
    expect(resolve(server, { B: 'set', C: '' })).toEqual({ missing: ['A', 'C', 'toString'] });
  });

  test('cannot stand for the roots', () => {
    const { server } = resolved(local({ args: [v('WORKSPACE_ROOT')] }), { WORKSPACE_ROOT: '/evil' });
    expect(server).toMatchObject({ args: ['/w/tree'] });
  });

  test('are nothing but a dollar, a brace, a name and a brace', () => {
    const others = ['$A', '${', `$\{A`, `$\{}`, `$\{1A}`, `$\{A-b}`, `$\{A:-x}`, `$\{ A}`, `$$`, '$(A)'];
    expect(resolved(local({ args: others })).server).toMatchObject({ args: others });
    expect(resolved(local({ args: [`$$\{A}`, `$\{$\{A}}`] }), { A: 'value' }).server).toMatchObject({
      args: ['$value', `$\{value}`],
    });
  });

  test('of a configuration are all that it uses, without the roots', () => {
    const servers = {
      a: { command: v('Z'), args: [v('B')], env: { X: v('C') }, cwd: v('SQUAD_ROOT'), tools: [] },
      b: { type: 'http', url: v('URL'), headers: { H: `${v('B')} ${v('WORKSPACE_ROOT')}` }, tools: [] },
    };
    expect(variablesIn(McpConfig.parse({ servers }))).toEqual(['B', 'C', 'URL', 'Z']);
  });
});

describe('a server that cannot be used with these values', () => {
  test.each([
    [remote({ url: v('A') }), 'file:///etc/passwd', /not an http or https URL/],
    [remote({ url: v('A') }), 'not a url', /not an http or https URL/],
    [remote({ headers: { Authorization: v('A') } }), 'x\r\nX-Evil: 1', /line break/],
    [local({ args: [v('A')] }), 'a\0b', /NUL/],
  ])('%# says so without the value', (server, value, words) => {
    const resolution = resolve(server, { A: value });
    expect(resolution).toEqual({ fault: expect.stringMatching(words) });
    expect(JSON.stringify(resolution)).not.toContain(JSON.stringify(value).slice(1, -1));
  });
});

describe('a value inside a url', () => {
  const urlOf = (url: string, variables: Record<string, string>) => {
    const { server } = resolved(remote({ url }), variables);
    return new URL((server as { url: string }).url);
  };

  test('is a piece of the part it stands in, whatever is in it', () => {
    const A = 'p@ss/w:o#r?d&x=1 %é';
    const url = urlOf(`http://user:${v('A')}@h.example/x/${v('A')}/y?q=${v('A')}&r=2`, { A });
    expect([url.host, decodeURIComponent(url.password), url.username]).toEqual(['h.example', A, 'user']);
    expect([...url.searchParams]).toEqual([
      ['q', A],
      ['r', '2'],
    ]);
    expect(url.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'x', A, 'y']);
  });

  test('is a URL itself at the beginning, and what follows cannot change its host', () => {
    const url = urlOf(`${v('BASE')}/${v('A')}`, { BASE: 'https://u:p@h.example:8443/base', A: '@evil/../x' });
    expect([url.host, url.pathname]).toEqual(['h.example:8443', '/base/%40evil%2F..%2Fx']);
  });

  test('may be a host and a port, alone or as a part', () => {
    const hosts = ['h.example', 'h.example:8080', '127.0.0.1', '[2001:db8::1]:90', 'under_score'];
    expect(hosts.map(HOST => urlOf(`http://u@${v('HOST')}/mcp`, { HOST }).host)).toEqual(hosts);
    expect(urlOf(`https://${v('SUB')}.h.example:${v('PORT')}`, { SUB: 'a', PORT: '99' }).host).toBe(
      'a.h.example:99',
    );
  });

  test.each([
    ...[
      'a@evil.example',
      'a/b',
      'a\\b',
      'a?b',
      'a#b',
      'a%2eb',
      'a b',
      'a:b',
      'a:1:2',
      'é.example',
      'a\tb',
    ].map((value): [string, string] => [`http://${v('A')}.h.example/`, value]),
    [`http://h.example${v('A')}/`, '@evil.example'],
    [`http://h.example${v('A')}`, '.evil.example/'],
    [`http:${v('A')}`, '//evil.example'],
    [v('A'), 'http://qx:q7@zx/kw-1@h.example/'],
    [v('A'), 'http://qx:12/kw-1@h.example/'],
    [v('A'), 'http://qx:12#kw-1@h.example/'],
    [`${v('A')}/mcp`, 'http://qx:zx?kw-1@h.example'],
  ])('in %s that would be another host (%j) is a fault that shows nothing of it', (url, value) => {
    const resolution = resolve(remote({ url }), { A: value });
    expect(resolution).toEqual({ fault: expect.any(String) });
    const { fault } = resolution as { fault: string };
    const pieces = value.split(/[^a-z0-9-]+/i).filter(piece => piece.length > 1 && piece !== 'http');
    expect(pieces.filter(piece => fault.includes(piece))).toEqual([]);
  });

  test('is secret as a host also without its port, as faults show it', () => {
    const { secrets } = resolved(remote({ url: `http://${v('HOST')}/` }), { HOST: 'Db.Internal:80' });
    const { text } = createRedactor(secrets);
    expect(text('db.internal cannot be reached')).toBe('[secret HOST] cannot be reached');
  });
});

test('a relative folder counts from the workspace', () => {
  expect(resolved(local({ cwd: 'sub/../x' })).server).toMatchObject({ cwd: '/w/x' });
});

describe('secret variables', () => {
  test('is every value of a variable, but for the roots', () => {
    const server = local({ args: [v('A'), v('SQUAD_ROOT')], env: { MODE: v('B') } });
    expect(resolved(server, { A: 'value-a', B: 'value-b' }).secrets).toEqual([
      { name: 'A', value: 'value-a' },
      { name: 'B', value: 'value-b' },
    ]);
  });

  test('is nothing that every program of the user has', () => {
    const names = ['HOME', 'PATH', 'LC_ALL', 'XDG_CONFIG_HOME', 'USER'];
    const variables = Object.fromEntries(names.map(name => [name, `/home/of/${name}`]));
    expect(resolved(local({ args: names.map(v) }), variables).secrets).toEqual([]);
    expect(resolved(local({ args: [v('HOME_TOKEN')] }), { HOME_TOKEN: 'value-a' }).secrets).toHaveLength(1);
  });

  test('is what stands in the file under a name that says so', () => {
    const env = {
      GITHUB_TOKEN: 'literal-1',
      API_KEY: 'literal-2',
      db_password: 'literal-3',
      MODE: 'literal-4',
    };
    expect(literalSecrets(local({ env })).map(({ value }) => value)).toEqual([
      'literal-1',
      'literal-2',
      'literal-3',
    ]);
    const headers = {
      Authorization: 'Bearer literal-5',
      cookie: 'literal-6',
      'x-api-key': 'literal-7',
      Accept: 'x',
    };
    expect(literalSecrets(remote({ headers }))).toEqual([
      { name: 'Authorization', value: 'Bearer literal-5' },
      { name: 'Authorization', value: 'literal-5' },
      { name: 'cookie', value: 'literal-6' },
      { name: 'x-api-key', value: 'literal-7' },
    ]);
    expect(literalSecrets(remote({ headers: { Authorization: `Bearer ${v('A')}` } }))).toEqual([]);
  });

  test('is the password and the key in a URL, also beside variables', () => {
    const server = local({
      args: [`postgres://app:pass%40word@${v('HOST')}/db`, 'https://a.example/?api_key=abcdef&x=1'],
    });
    const { secrets } = resolved(server, { HOST: 'db.example' });
    expect(secrets).toContainEqual({ name: 'password', value: 'pass@word' });
    expect(secrets).toContainEqual({ name: 'api_key', value: 'abcdef' });
    expect(secrets).not.toContainEqual({ name: 'x', value: '1' });
  });
});

describe('the key', () => {
  const key = (server: Server, variables = {}) => resolved(server, variables).key;

  test('is the same for the same thing, however it came about', () => {
    expect(key(local({ args: [v('A')] }), { A: 'x' })).toBe(
      key(local({ args: ['x'], tools: [], timeout: 500 })),
    );
    expect(key(local({ env: { A: '1', B: '2' } }))).toBe(key(local({ env: { B: '2', A: '1' } })));
  });

  test('is another as soon as anything is', () => {
    const all = [
      ...[
        local({}),
        local({ command: 'deno' }),
        local({ args: ['x'] }),
        local({ args: ['x', ''] }),
        local({ cwd: '/' }),
      ],
      ...[local({ env: { A: '1' } }), local({ env: { A: '2' } }), local({ args: ['["x"]'] })],
      ...[
        remote({}),
        remote({ type: 'sse' }),
        remote({ url: 'https://b.example/' }),
        remote({ headers: { A: '1' } }),
      ],
    ];
    expect(new Set(all.map(server => key(server))).size).toBe(all.length);
    expect(key(local({ args: [v('A')] }), { A: 'x' })).not.toBe(key(local({ args: [v('A')] }), { A: 'y' }));
  });
});

test('the source is how a server is started or reached, and no secret of it', () => {
  const all = [
    ...[local({}), local({ command: 'deno' }), local({ args: ['x'] }), local({ cwd: '/' })],
    ...[remote({}), remote({ type: 'sse' }), remote({ url: 'https://b.example/' })],
  ];
  expect(new Set(all.map(sourceHash)).size).toBe(all.length);
  expect(sourceHash(local({ env: { TOKEN: 'a' }, tools: [], timeout: 500 }))).toBe(sourceHash(local({})));
  expect(sourceHash(remote({ headers: { A: '1' } }))).toBe(sourceHash(remote({})));
  expect(sourceHash(local({ type: 'local' }))).toBe(sourceHash(local({ type: 'stdio' })));
});
