import { describe, expect, test } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { decide, grantsOf, type Thing, withFolderOf, withRoots } from './grants.ts';
import type { ResolvedServer } from './variables.ts';

const TOOLS = ['list', 'read', 'write', 'drop'];
const server = (tools: string[], more: object = {}) => ({ command: 'x', tools, ...more });
const CONFIG = McpConfig.parse({
  servers: {
    files: server(['*'], { resources: ['*'], prompts: ['review'] }),
    db: server(['list', 'read', 'write']),
    web: server(['*'], { resources: ['https://a/'] }),
    off: server([]),
  },
  shared: ['web'],
  agentServers: {
    architect: ['files', 'db'],
    coder: ['files'],
    tester: ['files', 'db'],
    reviewer: ['files'],
    operator: ['db', 'off'],
    writer: ['files'],
    analyst: ['db'],
    intern: ['files', 'missing'],
    guest: [],
  },
  toolRestrictions: {
    coder: { files: { exclude: ['drop'] } },
    tester: { files: { include: ['list', 'read'] }, db: { include: ['read', 'drop'] } },
    reviewer: { files: { include: ['read'] }, web: { include: [] } },
    operator: { db: { include: ['*'] }, off: { include: ['read'] } },
    writer: { files: { exclude: ['*'] } },
    analyst: { db: { exclude: ['w*'] }, files: { include: ['drop'] } },
    intern: { files: { include: ['read', 'nothing'] } },
  },
});

/** By hand: role, the `mcp` of its frontmatter, and the tools it has of files, db, web and off. */
const TABLE: [string | null, string[], string[], string[], string[], string[]][] = [
  ['architect', [], TOOLS, ['list', 'read', 'write'], TOOLS, []],
  ['coder', [], ['list', 'read', 'write'], [], TOOLS, []],
  ['tester', [], ['list', 'read'], ['read'], TOOLS, []],
  ['reviewer', [], ['read'], [], [], []],
  ['operator', [], [], ['list', 'read', 'write'], TOOLS, []],
  ['writer', [], [], [], TOOLS, []],
  ['analyst', [], [], ['list', 'read'], TOOLS, []],
  ['intern', [], ['read'], [], TOOLS, []],
  ['guest', ['files', 'db/read', 'db/drop'], TOOLS, ['read'], TOOLS, []],
  [
    'coder',
    ['files/drop', 'db/*', 'squad/squad_decision_record'],
    ['list', 'read', 'write'],
    ['list', 'read', 'write'],
    TOOLS,
    [],
  ],
  ['unheard-of', ['missing', 'missing/read', 'off'], [], [], TOOLS, []],
  [null, [], [], [], TOOLS, []],
  ['constructor', [], [], [], TOOLS, []],
  ['__proto__', ['__proto__', 'toString/read', ''], [], [], TOOLS, []],
];

const may = (role: string | null, mcp: string[], thing: Pick<Thing, 'kind' | 'server' | 'name'>) =>
  decide(grantsOf(CONFIG, role, mcp), { isApproved: true, ...thing }, { workspaceRoot: '/w' });

test.each(TABLE)('the role %s with %j has exactly its tools', { tags: ['B1'] }, (role, mcp, ...expected) => {
  const has = ['files', 'db', 'web', 'off'].map(server =>
    [...TOOLS, 'toString', '*', ''].filter(name => may(role, mcp, { kind: 'tool', server, name }).allowed),
  );
  // Where a server gives all, that includes names nobody has heard of: whether there is such a tool is not for grants to say.
  const known = has.map(names => names.filter(name => TOOLS.includes(name)));
  expect(known).toEqual(expected);
});

test('an exclusion for everybody holds for each role, and for runs without one', () => {
  const config = McpConfig.parse({
    servers: { files: server(['*']) },
    shared: ['files'],
    toolRestrictions: {
      '*': { files: { exclude: ['drop'] } },
      tester: { files: { include: ['read', 'drop'] } },
    },
  });
  const has = (role: string | null) =>
    TOOLS.filter(name => {
      const thing = { kind: 'tool' as const, server: 'files', name, isApproved: true };
      return decide(grantsOf(config, role, []), thing, { workspaceRoot: '/w' }).allowed;
    });
  expect(has(null)).toEqual(['list', 'read', 'write']);
  expect(has('coder')).toEqual(['list', 'read', 'write']);
  expect(has('tester')).toEqual(['read']);
});

describe('servers without tools of that name', () => {
  test('comes with the server as a whole, and only what the server lists', () => {
    expect(may('coder', [], { kind: 'resource', server: 'files', name: 'file:///x' }).allowed).toBe(true);
    expect(may('coder', [], { kind: 'resource_template', server: 'files', name: 'f:{x}' }).allowed).toBe(
      true,
    );
    expect(may('coder', [], { kind: 'prompt', server: 'files', name: 'review' }).allowed).toBe(true);
    expect(may('coder', [], { kind: 'prompt', server: 'files', name: 'other' }).allowed).toBe(false);
    expect(may('coder', [], { kind: 'resource', server: 'web', name: 'https://a/' }).allowed).toBe(true);
    expect(may('coder', [], { kind: 'resource', server: 'web', name: 'https://a/b' }).allowed).toBe(false);
    expect(may('tester', [], { kind: 'resource', server: 'db', name: 'x' }).allowed).toBe(false);
  });

  test('does not come with single tools', () => {
    expect(may('guest', ['files/read'], { kind: 'tool', server: 'files', name: 'read' }).allowed).toBe(true);
    expect(may('guest', ['files/*'], { kind: 'resource', server: 'files', name: 'file:///x' }).allowed).toBe(
      false,
    );
    expect(may('guest', ['files/review'], { kind: 'prompt', server: 'files', name: 'review' }).allowed).toBe(
      false,
    );
  });

  test('is not touched by restrictions of tools', () => {
    expect(may('writer', [], { kind: 'prompt', server: 'files', name: 'review' }).allowed).toBe(true);
  });
});

test('a denial says why', () => {
  const why = (role: string, server: string, name: string, more: Partial<Thing> = {}) => {
    const thing: Thing = { kind: 'tool', server, name, isApproved: true, ...more };
    const decision = decide(grantsOf(CONFIG, role, []), thing, { workspaceRoot: '/w' });
    return decision.allowed ? null : decision.reason;
  };
  expect(why('coder', 'db', 'read')).toBe('server');
  expect(why('architect', 'db', 'drop')).toBe('not_listed');
  expect(why('tester', 'files', 'write')).toBe('not_listed');
  expect(why('coder', 'files', 'drop')).toBe('excluded');
  expect(why('coder', 'files', 'read', { isApproved: false })).toBe('not_approved');
  expect(why('coder', 'files', 'read')).toBeNull();
});

test('a name that is nearly that of a server gives nothing of it', () => {
  const names = ['filesx', 'Files', 'files ', '/files', 'x/files', ''];
  expect(grantsOf(CONFIG, 'guest', names).map(({ server }) => server)).toEqual(['web']);
});

test('grants come in the order of the configuration, each server once', () => {
  const grants = grantsOf(CONFIG, 'architect', ['web', 'off', 'db', 'db/read', 'files']);
  expect(grants.map(({ server }) => server)).toEqual(['files', 'db', 'web', 'off']);
});

describe('rules on arguments', () => {
  const config = McpConfig.parse({
    ...{ servers: { files: server(['*'], { prompts: ['*'] }), db: server(['*']) }, shared: ['files', 'db'] },
    argumentRules: [
      { server: 'files', argument: 'path', under: [`$\{WORKSPACE_ROOT}/src`, `$\{SQUAD_ROOT}/docs`] },
      { server: 'files', role: 'cod*', argument: 'path', deny: ['*.env'] },
      { server: 'db', role: ['tester', 'intern'], tool: 'query', argument: 'sql', allow: ['SELECT *'] },
    ],
  });
  const roots = { WORKSPACE_ROOT: '/w/$&', SQUAD_ROOT: '/home/project' };
  const inWorkspace = { ...{ kind: 'stdio' as const, command: 'x', args: [], env: {} }, cwd: '/w/$&' };
  const decided = (role: string | null, thing: Partial<Thing> & { server: string; name: string }) =>
    decide(
      withRoots(grantsOf(config, role, []), roots).map(grant => withFolderOf(grant, inWorkspace)),
      { kind: 'tool', isApproved: true, ...thing },
      { workspaceRoot: roots.WORKSPACE_ROOT },
    );

  test('go with the roles they name', () => {
    const rules = (role: string | null) =>
      grantsOf(config, role, []).map(grant => grant.argumentRules.length);
    expect(rules('coder')).toEqual([2, 0]);
    expect(rules('tester')).toEqual([1, 1]);
    expect(rules(null)).toEqual([1, 0]);
  });

  test('count for calls, not for lists, and know the folders of the run', () => {
    const read = { server: 'files', name: 'read' };
    expect(decided('coder', read)).toEqual({ allowed: true });
    expect(decided('coder', { ...read, args: { path: '/w/$&/src/a' } })).toEqual({ allowed: true });
    expect(decided('coder', { ...read, args: { path: '/home/project/docs/a' } })).toEqual({ allowed: true });
    const denied = { allowed: false, reason: 'argument', argument: 'path' };
    expect(decided('coder', { ...read, args: { path: '/home/project/src' } })).toEqual({
      ...denied,
      rule: 'under',
    });
    expect(decided('coder', { ...read, args: { path: 'src/.env' } })).toEqual({ ...denied, rule: 'deny' });
    expect(decided('tester', { ...read, args: { path: 'src/.env' } })).toEqual({ allowed: true });
    expect(decided('coder', { ...read, args: undefined })).toEqual({ ...denied, rule: 'under' });
    expect(decided('tester', { server: 'db', name: 'query', args: {} })).toMatchObject({ rule: 'allow' });
    expect(decided('tester', { server: 'db', name: 'other', args: {} })).toEqual({ allowed: true });
  });

  test('take relative paths from where the server works, and from nowhere for one that is elsewhere', () => {
    const [grant] = withRoots(grantsOf(config, 'tester', []), roots);
    const elsewhere = { kind: 'http' as const, url: 'http://a.example/', headers: {} };
    const isAllowed = (server: ResolvedServer, path: string) =>
      decide(
        [withFolderOf(grant!, server)],
        { kind: 'tool', server: 'files', name: 'read', isApproved: true, args: { path } },
        { workspaceRoot: roots.WORKSPACE_ROOT },
      ).allowed;
    expect(isAllowed(inWorkspace, 'src/a')).toBe(true);
    expect(isAllowed({ ...inWorkspace, cwd: '/etc' }, 'src/a')).toBe(false);
    expect(isAllowed({ ...inWorkspace, cwd: '/w/$&/src' }, 'a')).toBe(true);
    expect(isAllowed(elsewhere, 'src/a')).toBe(false);
    expect(isAllowed(elsewhere, '/w/$&/src/a')).toBe(true);
  });

  test('are for tools alone', () => {
    expect(decided('coder', { kind: 'prompt', server: 'files', name: 'x', args: {} })).toEqual({
      allowed: true,
    });
  });
});
