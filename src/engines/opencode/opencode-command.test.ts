import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import { ENDPOINT, TurnPlace } from '../testing/turn.ts';
import { opencodeCommand } from './opencode-command.ts';
import { opencodePermissions, opencodePolicy } from './opencode-permissions.ts';
import { configuredModel } from './user-config.ts';

const CLI = { program: '/bin/opencode' };

describe('the command of opencode', () => {
  it('hands the prompt over on standard input', async () => {
    using place = new TurnPlace();
    const input = place.input();
    const { argv, stdin } = await opencodeCommand(input, CLI);
    expect(stdin).toBe(input.promptFile);
    expect(argv).not.toContain(input.prompt);
    expect(argv).toContain(`Squad ${input.runId}`);
  });

  it("gives Squad's endpoint in the environment and in no argument, with time for a long call", async () => {
    using place = new TurnPlace();
    const { argv, env } = await opencodeCommand(place.input({ endpoint: ENDPOINT }), CLI);
    expect(config(env).mcp.squad).toMatchObject({
      type: 'remote',
      url: ENDPOINT.url,
      headers: { Authorization: `Bearer ${ENDPOINT.token}` },
      oauth: false,
      timeout: 600_000,
    });
    expect(argv.join(' ')).not.toContain(ENDPOINT.token);
    expect(config((await opencodeCommand(place.input(), CLI)).env).mcp).toEqual({});
  });

  it('has opencode write its own log, and keeps where its data is', async () => {
    using place = new TurnPlace();
    const { argv } = await opencodeCommand(place.input(), CLI);
    expect(argv.join(' ')).toContain('--log-level INFO');
    const kept = () => readFileSync(join(place.folder, 'turn/opencode-data-path'), 'utf8');
    expect(kept()).toBe(join(place.home, '.local/share/opencode'));
    await opencodeCommand(place.input({ env: { XDG_DATA_HOME: '/data' } }), CLI);
    expect(kept()).toBe('/data/opencode');
  });

  it("turns the user's own servers off, wherever they are configured", async () => {
    using place = new TurnPlace();
    place.inHome('.config/opencode/opencode.jsonc', '{"mcp":{"notes":{"type":"local"},}, // mine\n}');
    const named = place.inHome('more.json', '{"mcp":{"squad":{},"web":{}}}');
    const env = {
      HOME: place.home,
      OPENCODE_CONFIG: named,
      OPENCODE_CONFIG_CONTENT: '{"mcp":{"inline":{"type":"local"}}}',
    };
    const off = { notes: { enabled: false }, web: { enabled: false } };
    const built = async (endpoint: typeof ENDPOINT | null) =>
      config((await opencodeCommand(place.input({ env, endpoint }), CLI)).env).mcp;
    expect(await built(null)).toEqual({ ...off, squad: { enabled: false } });
    expect(await built(ENDPOINT)).toEqual({ ...off, squad: expect.objectContaining({ url: ENDPOINT.url }) });
  });

  it("keeps what the user's environment configures and refuses what cannot be read", async () => {
    using place = new TurnPlace();
    const env = { OPENCODE_CONFIG_CONTENT: '{"provider":{"mine":{}},"permission":{"bash":"ask"}}' };
    const built = config((await opencodeCommand(place.input({ env }), CLI)).env);
    expect(built.provider).toEqual({ mine: {} });
    expect(built.permission.bash).toBe('allow');
    const broken = place.input({ env: { OPENCODE_CONFIG_CONTENT: '{' } });
    await expect(opencodeCommand(broken, CLI)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('resumes a chat, and then sets no title', async () => {
    using place = new TurnPlace();
    const { argv } = await opencodeCommand(place.input({ chatId: 'ses_1', continues: true }), CLI);
    expect(argv.join(' ')).toContain('--session ses_1');
    expect(argv).not.toContain('--title');
    const flag = place.input({ chatId: '--share', continues: true });
    await expect(opencodeCommand(flag, CLI)).rejects.toMatchObject({ code: 'ARGUMENT_LOOKS_LIKE_FLAG' });
  });

  it('refuses a model without a provider, and passes model and effort on', async () => {
    using place = new TurnPlace();
    await expect(opencodeCommand(place.input({ model: 'sonnet' }), CLI)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    const { argv } = await opencodeCommand(place.input({ model: 'a/b/c', options: { effort: 'high' } }), CLI);
    expect(argv).toEqual(expect.arrayContaining(['--model=a/b/c', '--variant=high']));
  });
});

test('opencode reads lines while it works if it has to ask the user', async () => {
  using place = new TurnPlace();
  const options = { approvals: 'ask' as const, permission: 'read' as const, effort: 'high' };
  const command = await opencodeCommand(place.input({ options, model: 'a/b' }), CLI);
  expect(command).toMatchObject({ argv: ['/bin/opencode', 'acp', '--log-level', 'INFO'], isFed: true });
  const { default_agent, agent, permission } = config(command.env);
  expect(default_agent).toBe('squad');
  expect(agent.squad).toMatchObject({ model: 'a/b', variant: 'high' });
  expect(permission).toMatchObject({
    bash: 'ask',
    edit: 'ask',
    webfetch: 'ask',
    read: 'allow',
    task: 'deny',
  });
  // The protocol has no request that copies a chat, and a new one would be without its messages.
  const copying = place.input({ options: { ...options, forksChat: 'ses_1' } });
  await expect(opencodeCommand(copying, CLI)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

describe('permissions of opencode', () => {
  it('is never asked about: everything is allowed or denied', () => {
    for (const permission of ['read', 'edit', 'full'] as const)
      for (const tools of [null, ['Read'], []])
        expect(
          Object.values(opencodePermissions({ ...PLAIN_OPTIONS, permission, tools })).filter(isAnswer),
        ).toEqual([]);
  });

  it('changes nothing with read, stays in its folder with edit, goes anywhere with full', () => {
    const of = (permission: 'read' | 'edit' | 'full') =>
      opencodePermissions({ ...PLAIN_OPTIONS, permission });
    expect(of('read')).toMatchObject({
      '*': 'deny',
      edit: 'deny',
      bash: 'deny',
      task: 'deny',
      read: 'allow',
    });
    expect(of('edit')).toMatchObject({ edit: 'allow', bash: 'allow', external_directory: 'deny' });
    expect(of('full')).toMatchObject({ '*': 'allow', external_directory: 'allow' });
  });

  it("has only the tools of a list, and Squad's own", () => {
    const permissions = opencodePermissions({ ...PLAIN_OPTIONS, tools: ['Read', 'Grep'] });
    expect(permissions).toMatchObject({
      '*': 'deny',
      bash: 'deny',
      edit: 'deny',
      grep: 'allow',
      read: 'allow',
    });
    expect(Object.entries(permissions).at(-1)).toEqual(['squad_*', 'allow']);
    expect(() => opencodePermissions({ ...PLAIN_OPTIONS, tools: ['Telescope'] })).toThrow('Telescope');
  });

  it('says that Edit and Write are one permission', () => {
    const [edit, tools] = opencodePolicy({ ...PLAIN_OPTIONS, tools: ['Write'] });
    expect(edit).toMatchObject({ rule: 'permission: edit', heldBy: 'engine' });
    expect(tools?.note).toContain('one permission for Edit and Write');
    expect(opencodePolicy(PLAIN_OPTIONS)[0]?.heldBy).toBe('advisory');
  });
});

const isAnswer = (value: string) => value !== 'allow' && value !== 'deny';
const config = (env: Record<string, string>) => JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '');

describe('the model that the configuration names', () => {
  it('is that of the last file that names one, or of the variable, for a new chat', () => {
    using place = new TurnPlace();
    const env: Record<string, string> = { HOME: place.home };
    const model = (continues = false) => configuredModel({ env, continues });
    expect(model()).toBeNull();
    place.inHome('.config/opencode/opencode.jsonc', '{"model": "a/one", // mine\n}');
    expect(model()).toBe('a/one');
    env.OPENCODE_CONFIG = place.inHome('more.json', '{"model": "a/two"}');
    expect(model()).toBe('a/two');
    env.OPENCODE_CONFIG_CONTENT = '{"model": "a/three"}';
    expect(model()).toBe('a/three');
    expect(model(true)).toBeNull();
    env.OPENCODE_CONFIG_CONTENT = '{"model": "{env:MODEL}"}';
    expect(model()).toBeNull();
  });
});
