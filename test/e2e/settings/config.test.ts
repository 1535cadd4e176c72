import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callTool, TestSquad, until } from '../../support/squad.ts';
import { storedEvents } from '../../support/stored.ts';
import { type Refused, startAndWait, strictCall } from '../../support/tools.ts';

interface Shown {
  key: string;
  value: unknown;
  origin: string;
  source: string;
}
interface Config {
  root: string;
  userFile: string;
  settings: Shown[];
  limits: Shown[];
  ignored: { file: string; key: string; reason: string }[];
  rolesFolder: { folder: string; reason: string };
  engine: { id: string | null; problem: string | null };
}

const squad = new TestSquad();
const userFile = `${squad.root}/user/.config/squad/config.json`;
const workspaceFile = `${squad.workspace}/.squad/squad.json`;

beforeAll(() => squad.unlimited());
afterAll(() => squad[Symbol.asyncDispose]());

const show = (env: Record<string, string> = {}) => squad.json<Config>(['config', 'show'], { env });
const setting = async (key: string, env: Record<string, string> = {}) => {
  const { settings, limits } = await show(env);
  const { key: _, ...rest } = [...settings, ...limits].find(each => each.key === key)!;
  return rest;
};
const inUserFile = (content: object) =>
  squad.write('../user/.config/squad/config.json', JSON.stringify(content));
const inWorkspaceFile = (content: object) => squad.write('.squad/squad.json', JSON.stringify(content));

describe('a setting comes from the first place that has it', () => {
  const timeout = (env: Record<string, string> = {}) => setting('processTimeoutMs', env);

  test('with nothing set it is the default', async () => {
    inUserFile({});
    inWorkspaceFile({});
    expect(await timeout()).toEqual({ value: 1_800_000, origin: 'default', source: 'default' });
  });

  test('the user file comes before the default', async () => {
    inUserFile({ processTimeoutMs: 1000 });
    inWorkspaceFile({});
    expect(await timeout()).toEqual({ value: 1000, origin: 'user', source: userFile });
  });

  test('the workspace file comes before the user file', async () => {
    inUserFile({ processTimeoutMs: 1000 });
    inWorkspaceFile({ processTimeoutMs: 2000 });
    expect(await timeout()).toEqual({ value: 2000, origin: 'workspace', source: workspaceFile });
  });

  test('the environment comes before the workspace file', { tags: ['A7'] }, async () => {
    inWorkspaceFile({ processTimeoutMs: 2000 });
    expect(await timeout({ PROCESS_TIMEOUT_MS: '3000' })).toEqual({
      value: 3000,
      origin: 'environment',
      source: 'PROCESS_TIMEOUT_MS',
    });
  });

  test('an empty variable is not set', async () => {
    inWorkspaceFile({ processTimeoutMs: 2000 });
    expect(await timeout({ PROCESS_TIMEOUT_MS: '' })).toMatchObject({ origin: 'workspace' });
  });

  test('each client is served by its own environment, whatever the others say', async () => {
    inUserFile({});
    inWorkspaceFile({});
    const [left, right] = await Promise.all([
      squad.client({ env: { RUN_TEMPLATE: 'echo left' } }),
      squad.client({ env: { RUN_TEMPLATE: 'echo right' } }),
    ]);
    const said = async (client: typeof left) =>
      (await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] })).members[0]!.rawStdout;
    expect(await Promise.all([said(left), said(right), said(left)])).toEqual(['left\n', 'right\n', 'left\n']);
  });
});

describe('a template', () => {
  test('is the text of a setting, or the path of a .template file', { tags: ['A7'] }, async () => {
    inUserFile({});
    inWorkspaceFile({});
    squad.write('my.template', 'echo from a file');
    expect(await setting('runTemplate', { RUN_TEMPLATE: 'my.template' })).toMatchObject({
      value: 'echo from a file',
      source: 'RUN_TEMPLATE',
    });
    expect(await setting('runTemplate', { RUN_TEMPLATE: 'echo my.templates' })).toMatchObject({
      value: 'echo my.templates',
    });
  });

  test('in the user file needs no trust and is found from there', async () => {
    squad.write('../user/.config/squad/mine.template', 'echo mine');
    inUserFile({ runTemplate: 'mine.template' });
    expect(await setting('runTemplate')).toEqual({ value: 'echo mine', origin: 'user', source: userFile });
    inUserFile({});
  });

  test('with an engine gets it as a variable; an engine alone is a built-in one', async () => {
    const client = await squad.client({
      env: { RUN_TEMPLATE: 'echo <%= engine %>', ENGINE_COMMAND: 'my agent' },
    });
    const { members } = await startAndWait(client, { members: [{ roleId: 'coder', task: 'x' }] });
    expect(members[0]).toMatchObject({ engine: 'template', rawStdout: 'my agent\n' });
    expect((await show({ ENGINE_COMMAND: 'scripted' })).engine.id).toBe('scripted');
  });
});

describe('commands in the configuration of a repository', () => {
  const start = async (env: Record<string, string> = {}) => {
    const client = await squad.client({ env });
    return strictCall<Refused & { members: { rawStdout: string; engine: string }[] }>(
      client,
      'start_squad_members',
      { members: [{ roleId: 'coder', task: 'x' }] },
    );
  };

  test('does nothing until it is trusted, says so, and asks again after an edit', {
    tags: ['B2', 'settings-that-come-with-a-repository'],
  }, async () => {
    inUserFile({});
    inWorkspaceFile({ runTemplate: 'echo from the repository' });
    const { ignored, engine } = await show();
    expect(ignored).toEqual([
      {
        file: workspaceFile,
        key: 'runTemplate',
        reason: expect.stringContaining('came with the workspace and is not trusted yet'),
      },
    ]);
    expect(engine.id).toBeNull();
    const refused = await start();
    expect(refused.error.code).toBe('ENGINE_NOT_TRUSTED');
    expect(refused.error.suggestions!.join()).toContain('squad trust');
    const human = await squad.run(['config', 'show']);
    expect(human.stdout).toContain(`ignored: runTemplate in ${workspaceFile}`);

    expect(await squad.run(['trust'])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('echo from the repository'),
      stderr: expect.stringContaining('squad trust --yes'),
    });
    expect(await squad.run(['trust', 'nope.md'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^squad: \/.*nope\.md does not exist \(INVALID_INPUT\)\n {2}`squad trust` /,
      ),
    });
    expect(await squad.run(['trust', '--yes'])).toMatchObject({ code: 0 });
    expect((await show()).ignored).toEqual([]);
    expect((await start()).members[0]!.rawStdout).toBe('from the repository\n');
    expect((await squad.run(['trust'])).stdout).toContain('Nothing in this workspace needs your trust');

    inWorkspaceFile({ runTemplate: 'echo changed' });
    expect((await start()).error.code).toBe('ENGINE_NOT_TRUSTED');
    inWorkspaceFile({ runTemplate: 'echo from the repository' });
    expect((await start()).members[0]!.rawStdout).toBe('from the repository\n');

    expect(await squad.run(['trust', '--remove', workspaceFile])).toMatchObject({ code: 0 });
    expect((await start()).error.code).toBe('ENGINE_NOT_TRUSTED');
    inWorkspaceFile({});
  });

  test('is the same for templates/run-agent.template, and the environment works without it', {
    tags: ['A7'],
  }, async () => {
    const file = squad.write('templates/run-agent.template', 'echo shipped template');
    expect((await show()).ignored).toMatchObject([{ file, key: 'runTemplate' }]);
    expect((await start({ ENGINE_COMMAND: 'scripted' })).error.code).toBe('ENGINE_NOT_TRUSTED');
    const run = ['run', '--quiet', 'coder', 'x'];
    expect(await squad.run(run)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/run-agent\.template.* \(ENGINE_NOT_TRUSTED\)\n[\s\S]*`squad trust`/),
    });
    expect((await squad.run([...run, '--engine', 'scripted'])).code).toBe(0);
    expect((await start({ RUN_TEMPLATE: 'echo mine' })).members[0]!.rawStdout).toBe('mine\n');
    await squad.run(['trust', '--yes']);
    expect((await start()).members[0]!.rawStdout).toBe('shipped template\n');
    rmSync(file);
  });

  test('is the same for what a role grants itself, while its body needs no trust', {
    tags: ['A12', 'A7'],
  }, async () => {
    const role = squad.write('agents/coder.md', '---\nengine: scripted\npermission: full\n---\nYou code.');
    const refused = await start({ RUN_TEMPLATE: 'echo template' });
    expect(refused.error).toMatchObject({
      code: 'ENGINE_NOT_TRUSTED',
      message: expect.stringContaining(`set in ${role}`),
    });
    const roles = await squad.run(['roles']);
    expect(roles.code).toBe(0);
    expect(roles.stdout).toContain('coder: "engine" has no effect until you trust the file: `squad trust`');
    expect(roles.stdout).toContain('coder: "permission" has no effect');
    const { files } = await squad.json<{ files: unknown }>(['trust', '--yes']);
    expect(files).toEqual([{ file: role, trusted: true }]);
    expect((await start({ RUN_TEMPLATE: 'echo template' })).members[0]).toMatchObject({ engine: 'scripted' });
  });

  test('a roles folder the user named is the user’s own', async () => {
    squad.write('mine/coder.md', '---\nengine: scripted\n---\nYou code.');
    expect((await start({ SQUAD_AGENTS_DIR: 'mine', RUN_TEMPLATE: 'echo x' })).members[0]).toMatchObject({
      engine: 'scripted',
    });
  });
});

describe('the limits of the hub', () => {
  test('are set, shown with where they come from, and put back', { tags: ['D8'] }, async () => {
    expect(await setting('limits.depth')).toEqual({ value: 2, origin: 'default', source: 'built in' });
    expect(await squad.json(['config', 'set', 'limits.depth', '5'])).toEqual({
      key: 'limits.depth',
      value: 5,
    });
    expect(await setting('limits.depth')).toEqual({
      value: 5,
      origin: 'settings',
      source: 'squad config set',
    });
    await squad.run(['hub', 'stop']);
    expect(await setting('limits.depth')).toMatchObject({ value: 5 });
    expect((await squad.run(['config', 'unset', 'limits.depth'])).stdout).toBe(
      'limits.depth is 2 (the default)\n',
    );
    expect(await setting('limits.depth')).toMatchObject({ value: 2, origin: 'default' });
    expect((await storedEvents(squad)).filter(event => event.type === 'setting.changed')).toMatchObject([
      { data: { key: 'limits.spawns_per_minute' } },
      { data: { key: 'tmux.sessions' } },
      { data: { key: 'limits.depth', value: '5' } },
      { data: { key: 'limits.depth', value: null } },
    ]);
  });

  test.each([
    ['limits.depht', '1', 'Did you mean limits.depth?'],
    ['limits.concurrency', '0', 'Default: 8.'],
    ['limits.concurrency', 'many', 'Default: 8.'],
    ['limits.concurrency', '', 'Default: 8.'],
    ['output.max_bytes', '1', 'Default: 2147483648.'],
  ])('cannot be nonsense: %s %s', async (key, value, next) => {
    const ran = await squad.run(['config', 'set', key, value]);
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(next) });
    expect(ran.stderr).toContain('(CONFIG_INVALID)');
  });
});

describe.each([false, true])("the client's roots (modern era: %s)", modern => {
  /** A client that was started outside of any project. */
  async function rooted(...folders: string[]) {
    const client = await squad.client({
      ...{ modern, cwd: '/', env: { RUN_TEMPLATE: 'pwd' } },
      capabilities: { roots: { listChanged: true } },
    });
    let asked = 0;
    client.setRequestHandler('roots/list', async () => {
      asked++;
      return { roots: folders.map(each => ({ uri: URL.canParse(each) ? each : pathToFileURL(each).href })) };
    });
    return { client, asked: () => asked };
  }
  const task = { members: [{ roleId: 'architect', task: 'x' }] };

  test('are the workspace when nothing else is, asked for once', { tags: ['A9'] }, async () => {
    squad.write('rooted/.keep', '');
    const { client, asked } = await rooted(`${squad.workspace}/rooted`);
    for (const _ of [1, 2]) {
      const { members, note } = await startAndWait(client, task);
      expect(members[0]!.rawStdout.trim()).toBe(`${squad.workspace}/rooted`);
      expect(note ?? '').not.toContain('roots');
    }
    expect(asked()).toBe(1);
  });

  test('are chosen from, and the result says which it is', { tags: ['A9'] }, async () => {
    squad.write('plain/.keep', '');
    squad.write('repo/.keep', '');
    execFileSync('git', ['init', '-q', `${squad.workspace}/repo`]);
    const { client } = await rooted(`${squad.workspace}/plain`, `${squad.workspace}/repo`);
    const { members, note } = await startAndWait(client, task);
    expect(members[0]!.rawStdout.trim()).toBe(`${squad.workspace}/repo`);
    expect(note).toContain(`The client has 2 roots. The workspace is ${squad.workspace}/repo`);
  });

  test('that are no folders do not hide those that are', async () => {
    squad.write('local/.keep', '');
    const { client } = await rooted('vscode-vfs://github/a/b', `${squad.workspace}/local`);
    const { members } = await startAndWait(client, task);
    expect(members[0]!.rawStdout.trim()).toBe(`${squad.workspace}/local`);
  });

  test('that are none leave the error as it is', async () => {
    const { client } = await rooted();
    expect(await callTool<Refused>(client, 'start_squad_members', task)).toMatchObject({
      isError: true,
      error: { code: 'WORKSPACE_REFUSED' },
    });
  });
});

test('the tools a client lists are those of the workspace its roots name, as they are now', async () => {
  squad.write('alone/.keep', '');
  squad.write('team/.squad/team.md', '');
  const client = await squad.client({ cwd: '/', capabilities: { roots: { listChanged: true } } });
  let folder = `${squad.workspace}/alone`;
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: pathToFileURL(folder).href }] }));
  const has = async () => (await client.listTools()).tools.some(({ name }) => name === 'squad_status');
  expect(await has()).toBe(false);
  folder = `${squad.workspace}/team`;
  await client.sendRootsListChanged();
  await until('the tools of the new root are listed', has);
});

test('the workspace is --workspace, then SQUAD_WORKSPACE, then the current folder', {
  tags: ['A9'],
}, async () => {
  squad.write('one/.keep', '');
  squad.write('two/.keep', '');
  const [one, two] = [`${squad.workspace}/one`, `${squad.workspace}/two`];
  const root = async (args: string[], env: Record<string, string>) =>
    (await squad.json<Config>(['config', 'show', ...args], { env })).root;
  expect(await root([], {})).toBe(squad.workspace);
  expect(await root([], { SQUAD_WORKSPACE: one })).toBe(one);
  expect(await root(['--workspace', two], { SQUAD_WORKSPACE: one })).toBe(two);
  const client = await squad.client({ args: ['--workspace', two], env: { RUN_TEMPLATE: 'pwd' } });
  const { members } = await startAndWait(client, { members: [{ roleId: 'architect', task: 'x' }] });
  expect(members[0]!.rawStdout).toBe(`${two}\n`);
});
