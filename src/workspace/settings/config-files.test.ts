import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveConfig, trustableFiles } from '../../core/settings/config.ts';
import { readConfigFiles, userFilePath } from './config-files.ts';
import { trust } from './trust.ts';

let root: string;
let workspace: string;
let home: string;
let env: Record<string, string>;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-config-')));
  workspace = join(root, 'ws');
  home = join(root, 'state');
  env = { HOME: join(root, 'user') };
  await mkdir(workspace);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, content: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}
const sources = () => readConfigFiles({ workspace, home, env });
const resolved = async () => resolveConfig(await sources());
const trustAll = async () => {
  for (const { file, text } of trustableFiles(await sources())) await trust(home, file, text);
};

describe('readConfigFiles', () => {
  it('finds nothing in an empty workspace', async () => {
    expect(await sources()).toEqual({
      workspace,
      env,
      workspaceFile: null,
      agentsDirLeadsOut: false,
      workspaceTemplates: { runTemplate: null, createChatTemplate: null },
      userFile: null,
      namedTemplates: new Map(),
    });
  });

  it('finds the files of workspace and user', async () => {
    await put('ws/.squad/squad.json', '\ufeff{ "stateMode": "stateful" }');
    await put('user/.config/squad/config.json', '{ "engine": "codex", "runTemplate": "r.template" }');
    await put('user/.config/squad/r.template', 'codex exec');
    const { config } = await resolved();
    expect(config.stateMode).toMatchObject({
      value: 'stateful',
      source: join(workspace, '.squad/squad.json'),
    });
    expect(config.engine).toMatchObject({ value: 'codex', origin: 'user' });
    expect(config.runTemplate).toMatchObject({ value: 'codex exec', origin: 'user' });
  });

  it('keeps what names a command without effect until that content is trusted', async () => {
    const settings = await put(
      'ws/.squad/squad.json',
      '{ "engine": "a", "createChatTemplate": "c.template" }',
    );
    const chat = await put('ws/c.template', 'a create-chat');
    const run = await put('ws/templates/run-agent.template', 'a run');
    const before = await resolved();
    expect(before.config.engine.value).toBeNull();
    expect(before.config.runTemplate.value).toBeNull();
    expect(before.ignored.map(({ file, key }) => [key, file])).toEqual([
      ['engine', settings],
      ['runTemplate', run],
      ['createChatTemplate', settings],
    ]);

    await trustAll();
    const after = await resolved();
    expect(after.ignored).toEqual([]);
    expect(after.config).toMatchObject({
      engine: { value: 'a', source: settings },
      runTemplate: { value: 'a run', source: run },
      createChatTemplate: { value: 'a create-chat' },
    });

    await writeFile(chat, 'evil');
    const changed = await resolved();
    expect(changed.config.createChatTemplate.value).toBeNull();
    expect(changed.ignored).toMatchObject([{ file: chat, key: 'createChatTemplate' }]);
  });

  it('needs trust for a roles folder that leads out of the workspace, also by a link', async () => {
    await mkdir(join(root, 'elsewhere'));
    await mkdir(join(workspace, 'people'));
    await symlink('../elsewhere', join(workspace, 'link'));
    for (const [agentsDir, out] of [
      ['people', false],
      ['../elsewhere', true],
      ['link', true],
      ['..people', false],
      ['/', true],
    ]) {
      await put('ws/.squad/squad.json', JSON.stringify({ agentsDir }));
      expect(await sources()).toMatchObject({ agentsDirLeadsOut: out });
    }
  });

  it.each([
    ['{ "stateMode": "stateful",\n  engine: "x" }', 'line 2, column 3: invalid symbol'],
    ['{\n  "engine": "a"', 'line 2, column 16: close brace expected'],
    ['', 'line 1, column 1: '],
    ['[]', 'line 1, column 1: '],
    ['{\n "stateMode": "both" }', 'line 2, column 15: "stateMode" is wrong'],
    ['{\n "processTimeoutMs": 0 }', 'line 2, column 22: "processTimeoutMs" is wrong'],
    ['{\n "allowedRoots": ["/"] }', 'line 2, column 2: the key "allowedRoots" is not known'],
  ])('says where %j is wrong', async (content, problem) => {
    const file = await put('ws/.squad/squad.json', content);
    await expect(sources()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`${file}, ${problem}`),
    });
  });

  it('takes comments and a comma after the last value', async () => {
    await put('ws/.squad/squad.json', '{\n  // why\n  "stateMode": "stateful", /* and */\n}');
    expect(await sources()).toMatchObject({ workspaceFile: { settings: { stateMode: 'stateful' } } });
  });

  it('suggests the key that was meant', async () => {
    await put('ws/.squad/squad.json', '{ "runTemplat": "x" }');
    await expect(sources()).rejects.toMatchObject({ suggestions: ['Did you mean runTemplate?'] });
  });

  it('says so when a settings file is no file', async () => {
    await mkdir(join(workspace, '.squad', 'squad.json'), { recursive: true });
    await expect(sources()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('userFilePath', () => {
  it.each([
    [{ XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/x/squad/config.json'],
    [{ XDG_CONFIG_HOME: 'x', HOME: '/h' }, '/h/.config/squad/config.json'],
    [{ HOME: '/h' }, '/h/.config/squad/config.json'],
    [{}, null],
  ])('for %j is %j', (variables, expected) => {
    expect(userFilePath(variables)).toBe(expected);
  });
});
