import fc from 'fast-check';
import type { ArgumentRule, McpConfig } from '../../schema/mcp-config.ts';
import type { Thing } from '../gateway/grants.ts';

/**
 * Small sets of names, so that random rules and random calls often match. Some names are inherited properties of every
 * object.
 */
export const ROLES = ['coder', 'tester', 'reviewer', '__proto__', 'constructor'];
export const SERVERS = ['files', 'db', 'web', 'none'];
export const NAMES = ['read', 'write', 'delete_all', 'toString', 'file:///a', '__proto__'];
/** Names as restrictions write them, some with the id of a server in front. */
const LISTED = [...NAMES, 'files_read', 'files__write', 'db__read'];
export const ROOT = '/w/project';

const PATHS = [
  ...[
    'src/a.ts',
    './src',
    'src/../src/b',
    '../project/src',
    '..',
    '../../etc',
    'src/../../x',
    'srcs/a',
    'src',
  ],
  ...[
    '/w/project/src/a',
    '/w/project',
    '/w/project/srcs',
    '/w/other',
    '/etc/passwd',
    '//w/project/src',
    '/',
    '.',
  ],
  ...[
    '',
    ' src',
    'src\\..\\x',
    'src\0',
    '~/x',
    'file:/etc',
    'C:/x',
    'src/%2e%2e/x',
    'main',
    'feature/a',
    'true',
    '7',
  ],
];
const KEYS = ['path', 'options', 'target', 'options.target', 'list', '__proto__', ''];
const PATTERNS = [
  '*',
  'src*',
  '*a*',
  'main',
  'feature/*',
  '7',
  'true',
  'null',
  '',
  '*..*',
  'path',
  '**t*a**',
];

const some = <T>(values: readonly T[], more: fc.ArrayConstraints = { maxLength: 3 }) =>
  fc.array(fc.constantFrom(...values), more);
const names = fc.oneof(
  fc.constant('*').map(all => [all]),
  some([...LISTED, '*']),
);
const record = <T>(keys: readonly string[], value: fc.Arbitrary<T>) =>
  fc
    .array(fc.tuple(fc.constantFrom(...keys), value), { maxLength: 3 })
    .map(pairs => Object.fromEntries(pairs));

const server = fc.record({ tools: names, resources: names, prompts: names }).map(lists => ({
  ...{ type: 'stdio' as const, command: 'x', args: [], env: {} },
  ...{ timeout: 1_000, cooldown: 1_000, instance: 'shared' as const },
  ...lists,
}));
const restriction = fc.oneof(
  names.map(include => ({ include })),
  some([...LISTED, '*', 'd*', '*e', 'db_*', 'files__d*']).map(exclude => ({ exclude })),
);
const folders = ['src', '/w/project/src', '/', '.', '../other', `/w/project/$\{X}`];

export const argumentRule: fc.Arbitrary<ArgumentRule> = fc
  .record(
    {
      role: some([...ROLES, '*', 'c*'], { minLength: 1, maxLength: 2 }),
      server: fc.constantFrom(...SERVERS),
      tool: some([...LISTED, '*', 'w*', 'files_*'], { minLength: 1, maxLength: 2 }),
      argument: fc.constantFrom(
        'path',
        'options',
        'options.target',
        'list',
        'list.path',
        'toString',
        '__proto__',
      ),
      allow: some(PATTERNS, { minLength: 1, maxLength: 3 }),
      deny: some(PATTERNS, { minLength: 1, maxLength: 2 }),
      under: some(folders, { minLength: 1, maxLength: 2 }),
      maxLength: fc.constantFrom(1, 4, 8, 20),
    },
    { requiredKeys: ['role', 'server', 'tool', 'argument'] },
  )
  .map(rule => (rule.allow || rule.deny || rule.under || rule.maxLength ? rule : { ...rule, maxLength: 4 }));

/** Configurations that the schema accepts. Some name roles and servers that do not exist. */
const anyConfig: fc.Arbitrary<McpConfig> = fc.record({
  servers: record(['files', 'db', 'web'], server),
  agentServers: record(ROLES, some(SERVERS)),
  shared: some(SERVERS, { maxLength: 1 }),
  toolRestrictions: record([...ROLES, '*'], record(SERVERS, restriction)),
  argumentRules: fc.array(argumentRule, { maxLength: 3 }),
});

/** Configurations that allow much. Most random configurations allow almost nothing, and leave nothing to restrict. */
const openConfig: fc.Arbitrary<McpConfig> = fc.record({
  servers: fc.record({ files: server, db: server, web: server }),
  agentServers: record(ROLES, some(['files', 'db'])),
  shared: some(['files', 'db', 'web'], { minLength: 2, maxLength: 3 }),
  toolRestrictions: record([...ROLES, '*'], record(['files', 'db'], restriction)),
  argumentRules: fc.array(
    argumentRule.map(rule => ({ ...rule, server: rule.server === 'none' ? 'files' : rule.server })),
    { maxLength: 2 },
  ),
});

export const config: fc.Arbitrary<McpConfig> = fc.oneof(anyConfig, openConfig);

/** Folder that a server's relative paths are resolved against. */
export const folder = fc.constantFrom<string | null>(ROOT, `${ROOT}/src`, '/w', '/etc', 'relative', null);

export const role = fc.oneof(fc.constantFrom(...ROLES), fc.constant(null));
export const roleMcp = some([
  ...[
    'files',
    'db',
    'none',
    'files/read',
    'db/*',
    'web/file:///a',
    'web/write',
    'squad/squad_decision_record',
  ],
  ...['__proto__', 'constructor/x', '', '/'],
]);

const leaf = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PATHS) },
  { weight: 1, arbitrary: fc.constantFrom(7, -0.5, true, false, null) },
);
const value = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    record(KEYS, tie('value')),
  ),
})).value;
export const args = fc.oneof(
  { weight: 8, arbitrary: record(KEYS, value) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, null, 'text', ['src'], 3) },
);

export const thing: fc.Arbitrary<Thing> = fc.record(
  {
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constant('tool' as const) },
      { weight: 2, arbitrary: fc.constantFrom('resource', 'resource_template', 'prompt' as const) },
    ),
    server: fc.constantFrom(...SERVERS),
    name: fc.constantFrom(...NAMES),
    isApproved: fc.oneof(
      { weight: 4, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    args,
  },
  { requiredKeys: ['kind', 'server', 'name', 'isApproved'] },
) as fc.Arbitrary<Thing>;
