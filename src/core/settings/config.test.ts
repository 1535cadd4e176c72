import { describe, expect, it } from 'vitest';
import {
  type ConfigSources,
  resolveConfig,
  type TemplateFile,
  templatePath,
  trustableFiles,
} from './config.ts';

const nothing: ConfigSources = {
  workspace: '/ws',
  env: {},
  workspaceFile: null,
  agentsDirLeadsOut: false,
  workspaceTemplates: { runTemplate: null, createChatTemplate: null },
  userFile: null,
  namedTemplates: new Map(),
};
type Settings = NonNullable<ConfigSources['workspaceFile']>['settings'];
const ofWorkspace = (settings: Settings, trusted = true): ConfigSources['workspaceFile'] => ({
  ...{ file: '/ws/.squad/squad.json', base: '/ws', text: '{…}', settings, trusted },
});
const ofUser = (settings: NonNullable<ConfigSources['userFile']>['settings']): ConfigSources['userFile'] => ({
  ...{ file: '/u/config.json', base: '/u', text: '{…}', settings },
});
const template = (file: string, text: string, trusted = true): TemplateFile => ({
  ...{ file, text, trusted, fault: null },
});
const resolved = (sources: Partial<ConfigSources>) => resolveConfig({ ...nothing, ...sources });

describe('resolveConfig', () => {
  it('has a default for everything', () => {
    const byDefault = { origin: 'default', source: 'default' };
    expect(resolved({})).toEqual({
      config: {
        stateMode: { value: 'stateless', ...byDefault },
        engine: { value: null, ...byDefault },
        runTemplate: { value: null, ...byDefault },
        createChatTemplate: { value: null, ...byDefault },
        agentsDir: { value: null, ...byDefault },
        processTimeoutMs: { value: 1_800_000, ...byDefault },
        engines: { value: {}, ...byDefault },
        context: { value: {}, ...byDefault },
        onEnd: { value: null, ...byDefault },
        onAsk: { value: null, ...byDefault },
        worktree: { value: {}, ...byDefault },
        review: { value: {}, ...byDefault },
        check: { value: null, ...byDefault },
        sandbox: { value: null, ...byDefault },
        network: { value: null, ...byDefault },
        sandboxRead: { value: [], ...byDefault },
        allowedRoots: { value: [], ...byDefault },
      },
      ignored: [],
    });
  });

  it('takes the environment over the workspace over the user, key by key', { tags: ['A7'] }, () => {
    const { config } = resolved({
      env: { STATE_MODE: 'stateful', PROCESS_TIMEOUT_MS: '5000', ENGINE_COMMAND: ' claude ' },
      workspaceFile: ofWorkspace({ stateMode: 'stateless', engine: 'codex', agentsDir: 'people' }),
      userFile: ofUser({ agentsDir: 'mine', runTemplate: 'agent', processTimeoutMs: 1 }),
    });
    expect(config).toMatchObject({
      stateMode: { value: 'stateful', origin: 'environment', source: 'STATE_MODE' },
      engine: { value: 'claude', origin: 'environment', source: 'ENGINE_COMMAND' },
      processTimeoutMs: { value: 5000, origin: 'environment', source: 'PROCESS_TIMEOUT_MS' },
      agentsDir: { value: '/ws/people', origin: 'workspace', source: '/ws/.squad/squad.json' },
      runTemplate: { value: 'agent', origin: 'user', source: '/u/config.json' },
    });
  });

  it('takes an empty value as not set', () => {
    const { config } = resolved({
      env: { STATE_MODE: '', RUN_TEMPLATE: '  ', PROCESS_TIMEOUT_MS: '' },
      workspaceFile: ofWorkspace({ engine: '' }),
      userFile: ofUser({ engine: 'gemini', runTemplate: 'agent' }),
    });
    expect(config).toMatchObject({
      stateMode: { origin: 'default' },
      processTimeoutMs: { origin: 'default' },
      runTemplate: { origin: 'user' },
      engine: { value: 'gemini' },
    });
  });

  it('takes squad.json before templates/ in the workspace', () => {
    const workspaceTemplates = {
      runTemplate: template('/ws/templates/run-agent.template', 'from file'),
      createChatTemplate: template('/ws/templates/create-chat.template', 'make chat'),
    };
    const { config } = resolved({
      workspaceTemplates,
      workspaceFile: ofWorkspace({ runTemplate: 'from json' }),
    });
    expect(config.runTemplate).toMatchObject({ value: 'from json', source: '/ws/.squad/squad.json' });
    expect(config.createChatTemplate).toEqual({
      value: 'make chat',
      origin: 'workspace',
      source: '/ws/templates/create-chat.template',
    });
  });

  it('reads a template setting that is a path from its own place', () => {
    const namedTemplates = new Map(
      ['/ws/t/env.template', '/ws/t/ws.template', '/u/t/user.template'].map(file => [
        file,
        template(file, file),
      ]),
    );
    const value = (sources: Partial<ConfigSources>) =>
      resolved({ namedTemplates, ...sources }).config.runTemplate.value;
    expect(value({ env: { RUN_TEMPLATE: 't/env.template' } })).toBe('/ws/t/env.template');
    expect(value({ workspaceFile: ofWorkspace({ runTemplate: './t/ws.template' }) })).toBe(
      '/ws/t/ws.template',
    );
    expect(value({ userFile: ofUser({ runTemplate: 't/user.template' }) })).toBe('/u/t/user.template');
  });

  it('misses a template file only when it is the one to be used', () => {
    const userFile = ofUser({ runTemplate: 'gone.template' });
    expect(() => resolved({ userFile })).toThrow(
      expect.objectContaining({
        code: 'TEMPLATE_MISSING',
        message: 'The template file /u/gone.template, named by /u/config.json, does not exist.',
      }),
    );
    expect(resolved({ userFile, env: { RUN_TEMPLATE: 'agent' } }).config.runTemplate.value).toBe('agent');
  });

  it('says why a template file cannot be read', () => {
    const broken = { ...template('/ws/x.template', '', false), fault: 'is not UTF-8 text' };
    const namedTemplates = new Map([[broken.file, broken]]);
    expect(() => resolved({ namedTemplates, env: { RUN_TEMPLATE: 'x.template' } })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('is not UTF-8 text'),
      }),
    );
  });

  it.each([
    ['STATE_MODE', 'Stateful', 'stateless or stateful'],
    ['PROCESS_TIMEOUT_MS', '0', 'a whole number of milliseconds from 1 to 2147483647'],
    ['PROCESS_TIMEOUT_MS', '-5', 'a whole number'],
    ['PROCESS_TIMEOUT_MS', '1.5', 'a whole number'],
    ['PROCESS_TIMEOUT_MS', '30m', 'a whole number'],
    ['PROCESS_TIMEOUT_MS', '1e3', 'a whole number'],
    ['PROCESS_TIMEOUT_MS', '2147483648', 'a whole number'],
  ])('refuses %s=%s and says what is allowed', (variable, value, allowed) => {
    expect(() => resolved({ env: { [variable]: value } })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`${variable} is "${value}"; it must be ${allowed}`),
      }),
    );
  });

  it('names the file of a value out of range', () => {
    expect(() => resolved({ userFile: ofUser({ processTimeoutMs: 2 ** 31 }) })).toThrow(
      'processTimeoutMs in /u/config.json is 2147483648; it must be',
    );
  });

  it('takes allowed roots from the user alone, absolute or under ~', () => {
    const roots = (allowedRoots: string[]) =>
      resolved({ env: { HOME: '/home/u' }, userFile: ofUser({ allowedRoots }) }).config.allowedRoots.value;
    expect(roots(['/srv/a', '~/b'])).toEqual(['/srv/a', '/home/u/b']);
    expect(() => roots(['b'])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});

describe('files that are not trusted', () => {
  const untrusted = ofWorkspace(
    {
      ...{ engine: 'evil', runTemplate: 'evil', createChatTemplate: 'evil', agentsDir: '../out' },
      ...{ stateMode: 'stateful', processTimeoutMs: 7 },
    },
    false,
  );

  it('has no effect and is listed, while plain values hold', () => {
    const { config, ignored } = resolved({
      workspaceFile: untrusted,
      agentsDirLeadsOut: true,
      userFile: ofUser({ engine: 'codex' }),
    });
    expect(config).toMatchObject({
      engine: { value: 'codex', origin: 'user' },
      runTemplate: { value: null },
      createChatTemplate: { value: null },
      agentsDir: { value: null },
      stateMode: { value: 'stateful' },
      processTimeoutMs: { value: 7 },
    });
    expect(ignored.map(({ key, file }) => [key, file])).toEqual(
      ['engine', 'runTemplate', 'createChatTemplate', 'agentsDir'].map(key => [key, '/ws/.squad/squad.json']),
    );
    expect(ignored[0]?.reason).toContain('squad trust');
  });

  it('does not matter where the environment decides', () => {
    const env = { ENGINE_COMMAND: 'a', RUN_TEMPLATE: 'b', CREATE_CHAT_TEMPLATE: 'c', SQUAD_AGENTS_DIR: 'd' };
    expect(resolved({ env, workspaceFile: untrusted, agentsDirLeadsOut: true }).ignored).toEqual([]);
  });

  it('is not needed for roles inside the workspace', () => {
    const { config } = resolved({ workspaceFile: ofWorkspace({ agentsDir: 'people' }, false) });
    expect(config.agentsDir.value).toBe('/ws/people');
  });

  it('is also a template file, in templates/ or named by a trusted squad.json', () => {
    const file = template('/ws/templates/run-agent.template', 'evil', false);
    const named = template('/ws/x.template', 'evil', false);
    const { config, ignored } = resolved({
      workspaceTemplates: { runTemplate: file, createChatTemplate: null },
      workspaceFile: ofWorkspace({ runTemplate: 'x.template' }),
      namedTemplates: new Map([[named.file, named]]),
    });
    expect(config.runTemplate).toMatchObject({ value: null, origin: 'default' });
    expect(ignored.map(entry => entry.file)).toEqual([named.file, file.file]);
  });

  it('does no harm when it cannot be read or is missing', () => {
    const broken = { ...template('/ws/templates/run-agent.template', '', false), fault: 'is a folder' };
    const { config, ignored } = resolved({
      workspaceTemplates: { runTemplate: broken, createChatTemplate: null },
      workspaceFile: ofWorkspace({ createChatTemplate: 'gone.template' }, false),
    });
    expect(config).toMatchObject({ runTemplate: { value: null }, createChatTemplate: { value: null } });
    expect(ignored[0]).toEqual({ key: 'runTemplate', file: broken.file, reason: 'the file is a folder' });
  });

  it('is offered to be trusted, with the text that was read', () => {
    const sources: ConfigSources = {
      ...nothing,
      workspaceFile: ofWorkspace({ runTemplate: 'x.template' }, false),
      workspaceTemplates: {
        runTemplate: null,
        createChatTemplate: template('/ws/templates/create-chat.template', 'c', true),
      },
      namedTemplates: new Map([['/ws/x.template', template('/ws/x.template', 'x', false)]]),
    };
    expect(trustableFiles(sources)).toEqual([
      { file: '/ws/.squad/squad.json', text: '{…}', trusted: false },
      { file: '/ws/x.template', text: 'x', trusted: false },
      { file: '/ws/templates/create-chat.template', text: 'c', trusted: true },
    ]);
    expect(
      trustableFiles({ ...nothing, workspaceFile: ofWorkspace({ stateMode: 'stateful' }, false) }),
    ).toEqual([]);
  });
});

describe('the sandbox of a repository that is not trusted', () => {
  const values = (workspace: Settings, user: Settings = {}, trusted = false) => {
    const sources = { workspaceFile: ofWorkspace(workspace, trusted), userFile: ofUser(user) };
    const { config, ignored } = resolved(sources);
    return {
      ...{ sandbox: config.sandbox.value, network: config.network.value },
      ignored: ignored.map(({ key }) => key),
      needsTrust: trustableFiles({ ...nothing, ...sources }).length > 0,
    };
  };

  it.each<[Settings, Settings, object]>([
    [{ sandbox: 'off' }, {}, { sandbox: null, ignored: ['sandbox'], needsTrust: true }],
    [
      { sandbox: 'workspace' },
      { sandbox: 'strict' },
      { sandbox: 'strict', ignored: ['sandbox'], needsTrust: true },
    ],
    [{ network: 'full' }, {}, { network: null, ignored: ['network'], needsTrust: true }],
    [{ network: 'models' }, { network: 'none' }, { network: 'none', ignored: ['network'], needsTrust: true }],
    [
      { sandbox: 'strict', network: 'none' },
      { sandbox: 'workspace' },
      { sandbox: 'strict', network: 'none', ignored: [], needsTrust: false },
    ],
    [{ sandbox: 'workspace' }, {}, { sandbox: 'workspace', ignored: [], needsTrust: false }],
  ])('%j cannot weaken %j', { tags: ['I1'] }, (workspace, user, expected) => {
    expect(values(workspace, user)).toMatchObject(expected);
  });

  it('counts once it is trusted', () => {
    expect(values({ sandbox: 'off', network: 'full' }, { sandbox: 'strict' }, true)).toMatchObject({
      ...{ sandbox: 'off', network: 'full', ignored: [] },
    });
  });
});

describe('templatePath', () => {
  it.each([
    ['a.template', '/base/a.template'],
    [' ../a b.template\n', '/a b.template'],
    ['/abs/a.template', '/abs/a.template'],
    ['agent --print', null],
    ['agent x.template --print', null],
    ['agent \\\n x.template', null],
  ])('of %j is %j', (setting, expected) => {
    expect(templatePath(setting, '/base')).toBe(expected);
  });
});
