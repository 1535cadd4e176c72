import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { TurnInput } from '../../core/ports/engine.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import type { RunOptions } from '../../schema/run.ts';
import { CHAT, ENDPOINT, rehearsal } from '../testing/contract.ts';
import { codexCommand, sandboxTemp, tomlString } from './codex-command.ts';
import { configuredModel, serversIn } from './user-config.ts';

const NOTHING_BEYOND = [
  '--ignore-rules',
  ...[
    '-c',
    'sandbox_workspace_write.writable_roots=[]',
    '-c',
    'sandbox_workspace_write.network_access=false',
  ],
];

const RULES = mkdtempSync(join(tmpdir(), 'squad-codex-rules-'));
mkdirSync(join(RULES, '.codex', 'rules'), { recursive: true });
writeFileSync(join(RULES, '.codex', 'rules', 'default.rules'), '');
afterAll(() => rmSync(RULES, { recursive: true }));

/** A turn that only reads its prompt, because the user has rules that `codex app-server` cannot ignore. */
const buildOnce = (options: Partial<RunOptions> = {}, changes: Partial<TurnInput> = {}) =>
  build(options, { env: { HOME: RULES }, ...changes });

async function build(options: Partial<RunOptions> = {}, changes: Partial<TurnInput> = {}) {
  const { input, written } = rehearsal({ options: { ...PLAIN_OPTIONS, ...options }, ...changes });
  return { ...(await codexCommand(input, { program: '/bin/codex' })), written };
}

test('the whole command of a turn that resumes a chat', async () => {
  const { argv, env, written } = await buildOnce(
    { effort: 'high', outputSchema: { type: 'object' } },
    { chatId: CHAT, continues: true, model: 'gpt-x', endpoint: ENDPOINT },
  );
  expect(argv).toEqual([
    '/bin/codex',
    ...['exec', '--json', '--skip-git-repo-check'],
    ...['-c', 'analytics.enabled=false', '-c', 'check_for_update_on_startup=false'],
    ...['--disable', 'plugins', '--disable', 'apps'],
    '--sandbox=workspace-write',
    ...NOTHING_BEYOND,
    '--cd=/work place/here',
    '--model=gpt-x',
    ...['-c', 'model_reasoning_effort="high"'],
    '--output-schema=/squad/turn/schema.json',
    '-c',
    `mcp_servers.squad_run={url="${ENDPOINT.url}",bearer_token_env_var="SQUAD_TOKEN",required=true,default_tools_approval_mode="approve"}`,
    ...['resume', CHAT, '-'],
  ]);
  expect(env.SQUAD_TOKEN).toBe(ENDPOINT.token);
  expect(written.get('schema.json')).toBe('{"type":"object"}');
});

test('a first turn has no chat yet, and without Squad no token', async () => {
  const { argv, env } = await buildOnce();
  expect(argv).not.toContain('resume');
  expect(argv.at(-1)).toBe('-');
  expect(env).not.toHaveProperty('SQUAD_TOKEN');
});

describe('permissions', () => {
  const flags = async (options: Partial<RunOptions>) => {
    const { argv } = await build({ ...options, promptOnly: true });
    return argv.slice(argv.indexOf('apps') + 1, argv.indexOf('--cd=/work place/here'));
  };

  test.each([
    [{ permission: 'read' }, ['--sandbox=read-only', ...NOTHING_BEYOND]],
    [{ permission: 'edit' }, ['--sandbox=workspace-write', ...NOTHING_BEYOND]],
    [{ permission: 'full' }, ['--dangerously-bypass-approvals-and-sandbox']],
    [{ tools: ['Bash', 'WebSearch'] }, ['--sandbox=workspace-write', ...NOTHING_BEYOND]],
    [{ tools: ['Read', 'WebSearch'] }, ['--sandbox=read-only', ...NOTHING_BEYOND]],
    [{ permission: 'full', tools: ['Read', 'WebSearch'] }, ['--sandbox=read-only', ...NOTHING_BEYOND]],
    [{ tools: ['Read'] }, ['--sandbox=read-only', ...NOTHING_BEYOND, '-c', 'web_search="disabled"']],
    [
      { tools: [] },
      ['--sandbox=read-only', ...NOTHING_BEYOND, '--disable', 'shell_tool', '-c', 'web_search="disabled"'],
    ],
    [
      { tools: ['Write', 'WebSearch'] },
      ['--sandbox=workspace-write', ...NOTHING_BEYOND, '--disable', 'shell_tool'],
    ],
  ] as [Partial<RunOptions>, string[]][])('%j is %j', async (options, expected) =>
    expect(await flags(options)).toEqual(expected),
  );
});

describe("the user's own servers", () => {
  test('are turned off by name', async () => {
    const home = mkdtempSync(join(tmpdir(), 'squad-codex-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    mkdirSync(join(home, '.codex'));
    writeFileSync(
      join(home, '.codex', 'config.toml'),
      '[mcp_servers.docs]\ncommand="x"\n[mcp_servers.squad]\nurl="y"\n',
    );
    const { argv } = await build({}, { env: { HOME: home } });
    expect(argv).toContain('mcp_servers.docs.enabled=false');
    expect(argv).toContain('mcp_servers.squad.enabled=false');
  });

  test('are known by their tables', () => {
    const toml = `
[mcp_servers.one]
  [mcp_servers.one.env]
[ mcp_servers . "two-2" ]
# [mcp_servers.commented]
text = "[mcp_servers.inside]"
[mcp_servers."not plain"]
[other.mcp_servers.three]`;
    expect(serversIn(toml)).toEqual(['one', 'two-2']);
  });
});

test.each([
  ['plain', '"plain"'],
  ['a "b" \\ c', '"a \\"b\\" \\\\ c"'],
  ['two\nlines\ttab\u0000\u001f', '"two\\nlines\\ttab\\u0000\\u001f"'],
  ['del\u007f', '"del\\u007f"'],
  ['half \ud83d', '"half \ufffd"'],
  ["it's 🙂 }{ ]=", `"it's 🙂 }{ ]="`],
])('%j is %s in TOML', (value, toml) => expect(tomlString(value)).toBe(toml));

test.each([
  [{ HOME: '/home/u' }, {}],
  [{ HOME: '/tmp/u' }, { TMPDIR: '/var/tmp' }],
  [{ HOME: '/home/u', CODEX_HOME: '/tmp/c' }, { TMPDIR: '/var/tmp' }],
  [{ HOME: '/tmp/u', CODEX_HOME: '/home/c' }, {}],
  [{ HOME: '/home/u', TMPDIR: '/home' }, { TMPDIR: '/var/tmp' }],
  [{ HOME: '/var/tmp/u', TMPDIR: '/var/tmp' }, { TMPDIR: '/tmp' }],
  [{ HOME: '/tmpfoo/u' }, {}],
  [{}, {}],
])('with %j the sandbox gets %j', (env, expected) =>
  expect(sandboxTemp(env as Record<string, string>)).toEqual(expected),
);

describe('the model that the configuration names', () => {
  const home = (files: Record<string, string>) => {
    const root = mkdtempSync(join(tmpdir(), 'squad-codex-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), content.replaceAll('ROOT', root));
    }
    mkdirSync(join(root, 'work/.git'), { recursive: true });
    return { env: { HOME: root }, cwd: join(root, 'work'), worktree: null };
  };
  const user = (content: string) => home({ '.codex/config.toml': content });

  test.each([
    ['model = "gpt-5" # mine\n[tools]\nmodel = "x"', 'gpt-5'],
    ["'model' = 'gpt-5'", 'gpt-5'],
    ['notes = """\nmodel = "no"\n"""\nmodel="gpt-5"', 'gpt-5'],
    ['model_provider = "x"\n[profiles.p]\nmodel = "no"', null],
    ['# model = "no"', null],
    ['', null],
  ])('%j: %s', (config, model) => {
    expect(configuredModel(user(config))).toBe(model);
  });

  test("is the project's where the project is trusted, and not known in a work tree", () => {
    const project = { 'work/.codex/config.toml': 'model = "theirs"' };
    const trust = '\n[projects."ROOT/work"]\ntrust_level = "trusted"\n';
    const trusted = home({ ...project, '.codex/config.toml': `model = "mine"${trust}` });
    expect(configuredModel(trusted)).toBe('theirs');
    const worktree = { path: trusted.cwd, repository: trusted.cwd };
    expect(configuredModel({ ...trusted, worktree })).toBeNull();
    expect(configuredModel(home({ ...project, '.codex/config.toml': 'model = "mine"' }))).toBe('mine');
  });
});

test('a turn is one of app-server, which gets neither prompt nor chat as arguments', async () => {
  const { argv, stdin, isFed, env } = await build(
    { approvals: 'ask', permission: 'read', effort: 'high', outputSchema: { type: 'object' } },
    { chatId: CHAT, continues: true, model: 'gpt-x', endpoint: ENDPOINT },
  );
  expect(argv).toEqual([
    '/bin/codex',
    'app-server',
    ...['-c', 'analytics.enabled=false', '-c', 'check_for_update_on_startup=false'],
    ...['--disable', 'plugins', '--disable', 'apps'],
    ...['-c', 'sandbox_workspace_write.writable_roots=[]'],
    ...['-c', 'sandbox_workspace_write.network_access=false'],
    ...['-c', 'features.default_mode_request_user_input=true'],
    ...['-c', 'suppress_unstable_features_warning=true'],
    ...['-c', 'model_reasoning_effort="high"'],
    '-c',
    `mcp_servers.squad_run={url="${ENDPOINT.url}",bearer_token_env_var="SQUAD_TOKEN",required=true,default_tools_approval_mode="approve"}`,
  ]);
  expect({ stdin, isFed }).toEqual({ stdin: null, isFed: true });
  expect(env.SQUAD_TOKEN).toBe(ENDPOINT.token);
  const silent = await build();
  expect([silent.argv[1], silent.isFed, silent.argv.join().includes('request_user_input')]).toEqual([
    ...['app-server', true, false],
  ]);
});

test.each([{ machine: 'box' }, { promptOnly: true }] as const)(
  'with %j it only reads its prompt',
  async more => {
    expect((await build({ approvals: 'ask', ...more })).argv[1]).toBe('exec');
  },
);

test('with rules of the user or the project it reads lines only if the rules change nothing or it may ask', async () => {
  const inProject = { cwd: join(RULES, 'deeper'), env: { HOME: '/home/u' } };
  const homes: Record<string, string>[] = [{ HOME: RULES }, { CODEX_HOME: join(RULES, '.codex') }];
  for (const changes of [inProject, ...homes.map(env => ({ env }))]) {
    const verb = async (options: Partial<RunOptions>) => (await build(options, changes)).argv[1];
    expect(await verb({})).toBe('exec');
    expect(await verb({ permission: 'full', tools: ['Read'] })).toBe('exec');
    expect(await verb({ approvals: 'ask' })).toBe('app-server');
    expect(await verb({ permission: 'full' })).toBe('app-server');
  }
});
