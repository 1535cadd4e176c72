import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../../core/ports/workspace.ts';
import { engineFor } from '../../core/runs/plan-run.ts';
import type { InstalledCli } from '../../schema/engine-spec.ts';
import { newRunId, newSquadId } from '../../schema/ids.ts';
import { NO_SANDBOX } from '../../schema/sandbox.ts';
import { createWorkspaces } from './open-workspace.ts';
import { trust } from './trust.ts';

let root: string;
let faults: string[];
let installed: InstalledCli[];
/** By the name that was asked for. */
let known: Record<string, InstalledCli>;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-workspace-')));
  await put('work/agents/coder.md', '---\nname: Coder\n---\nYou code.');
  faults = [];
  installed = [];
  known = {};
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, content: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

const workspaces = () =>
  createWorkspaces({
    home: join(root, 'home'),
    shippedRoles: join(root, 'shipped'),
    shippedTemplates: join(root, 'shipped-templates'),
    ownTools: new Set(['list_roles']),
    environment: async () => ({}),
    engines: { find: async name => known[name] ?? null, installed: async () => installed },
    onFault: (file, fault) => faults.push(`${file}: ${fault}`),
  });
const caller = (env: Record<string, string> = {}, more: Partial<Caller> = {}): Caller => ({
  client: null,
  cwd: join(root, 'work'),
  workspace: null,
  env: { HOME: join(root, 'user'), ...env },
  parent: null,
  ...more,
});
const open = (env: Record<string, string> = {}) => workspaces().open(caller(env));

describe('the engine of a role', () => {
  test('is none when nothing is set, and says what to set', async () => {
    const workspace = await open();
    await expect(workspace.engine(null, {})).rejects.toMatchObject({ code: 'ENGINE_NOT_SET' });
  });

  test('is the first installed agent CLI when nothing is set, and that is said', {
    tags: ['A7'],
  }, async () => {
    installed = [{ cli: 'codex', program: '/bin/codex', version: '1.2.3', warning: 'untried' }];
    const { spec, notes } = await (await open()).engine(null, {});
    expect(spec).toEqual({ kind: 'cli', cli: 'codex', program: '/bin/codex', version: '1.2.3' });
    expect(notes).toEqual([expect.stringContaining('No engine is set: using codex 1.2.3'), 'untried']);
  });

  test('is one of the user, by its name, with the events it prints', { tags: ['A7'] }, async () => {
    await put('work/.squad/squad.json', '{"engines":{"other":{"runTemplate":"evil"}}}');
    await put(
      'user/.config/squad/config.json',
      '{"engines":{"mine":{"runTemplate":"mine -p","parser":"claude"}}}',
    );
    const workspace = await open({ ENGINE_COMMAND: 'mine' });
    expect((await workspace.engine(null, {})).spec).toMatchObject({
      id: 'mine',
      runTemplate: 'mine -p',
      parser: 'claude',
    });
    expect(workspace.ignored).toEqual([expect.objectContaining({ key: 'engines' })]);
  });

  test('is an agent of the Agent Client Protocol that the user configured', { tags: ['A7'] }, async () => {
    await put('user/.config/squad/config.json', '{"engines":{"goose":{"acp":["goose","acp"]}}}');
    const workspace = await open({ ENGINE_COMMAND: 'goose' });
    const { spec } = await workspace.engine(null, {});
    expect(spec).toEqual({ kind: 'acp', id: 'goose', command: ['goose', 'acp'] });
  });

  test('is one of our own when its name stands alone', async () => {
    const scripted = await open({ ENGINE_COMMAND: 'scripted' });
    expect((await scripted.engine(null, {})).spec).toEqual({ kind: 'scripted' });
    const unknown = await open({ ENGINE_COMMAND: 'nonesuch' });
    await expect(unknown.engine(null, {})).rejects.toMatchObject({ code: 'ENGINE_UNKNOWN' });
  });

  test('is the template when there is one, with the name as its variable', async () => {
    const workspace = await open({ ENGINE_COMMAND: 'claude', RUN_TEMPLATE: '<%= engine %> -p' });
    expect((await workspace.engine(null, {})).spec).toEqual({
      kind: 'template',
      id: 'template',
      parser: 'text',
      runTemplate: '<%= engine %> -p',
      createChatTemplate: null,
      engineCommand: 'claude',
    });
  });

  test('is always the template where there is one, whatever the configured name is', {
    tags: ['A7'],
  }, async () => {
    await put('user/.config/squad/config.json', '{"engines":{"mine":{"runTemplate":"mine -p"}}}');
    for (const name of ['scripted', 'native', 'mine', 'claude-code']) {
      const workspace = await open({ ENGINE_COMMAND: name, RUN_TEMPLATE: '<%= engine %> -p' });
      expect((await workspace.engine(null, {})).spec).toMatchObject({ id: 'template', engineCommand: name });
    }
  });

  test('is the agent CLI that a call or a role names, template or not', async () => {
    known = { 'codex-cli': { cli: 'codex', program: '/bin/codex', version: '1.2.3', warning: null } };
    const workspace = await open({ RUN_TEMPLATE: '<%= engine %> -p' });
    expect((await workspace.engine('codex-cli', {})).spec).toMatchObject({ kind: 'cli', cli: 'codex' });
    expect((await workspace.engine('scripted', {})).spec).toEqual({ kind: 'scripted' });
    expect((await workspace.engine('other', {})).spec).toMatchObject({ engineCommand: 'other' });
  });

  test("is what a repository's role file says once the user has trusted that file", async () => {
    const text = '---\nengine: ./evil.sh\n---\nYou code.';
    const file = await put('work/agents/coder.md', text);
    const before = await open();
    const role = await before.role('coder');
    expect(role).toMatchObject({ meta: {}, ungranted: ['engine'] });
    expect(role.warnings).toEqual([
      expect.stringContaining('"engine" has no effect until you trust the file'),
    ]);
    await expect(engineFor(undefined, role, before, {})).rejects.toMatchObject({
      code: 'ENGINE_NOT_TRUSTED',
      message: expect.stringContaining(`set in ${file}`),
    });
    expect((await engineFor('scripted', role, before, {})).spec).toEqual({ kind: 'scripted' });
    expect(await before.untrusted()).toEqual([file]);

    await trust(join(root, 'home'), file, text);
    const after = await open({ ENGINE_COMMAND: 'claude', RUN_TEMPLATE: '<%= engine %> -p' });
    const { spec } = await engineFor(undefined, await after.role('coder'), after, {});
    expect(spec).toMatchObject({ engineCommand: './evil.sh' });
    expect(await after.untrusted()).toEqual([]);
  });

  describe('is never another one than the workspace names', () => {
    const refusal = {
      code: 'ENGINE_NOT_TRUSTED',
      suggestions: expect.arrayContaining([expect.stringContaining('squad trust')]),
    };

    test.each([
      ['templates/run-agent.template', 'theirs -p'],
      ['.squad/squad.json', '{"runTemplate":"theirs -p"}'],
      ['.squad/squad.json', '{"engine":"codex"}'],
      ['.squad/squad.json', '{"engine":"mine","engines":{"mine":{"runTemplate":"theirs"}}}'],
    ])('%s: %s', async (path, text) => {
      const file = await put(`work/${path}`, text);
      installed = [{ cli: 'claude', program: '/bin/claude', version: '2.0.0', warning: null }];
      const user = { engine: 'scripted', runTemplate: 'mine -p', engines: { mine: { runTemplate: 'mine' } } };
      for (const settings of [{}, user]) {
        await put('user/.config/squad/config.json', JSON.stringify(settings));
        const workspace = await open();
        await expect(workspace.engine(null, {})).rejects.toMatchObject({
          ...refusal,
          message: `The engine is set in ${file}, which came with the workspace and is not trusted yet`,
        });
        expect((await workspace.engine('scripted', {})).spec).toEqual({ kind: 'scripted' });
      }
    });

    test('also with ENGINE_COMMAND, which is only the variable of a template', { tags: ['A7'] }, async () => {
      await put('work/templates/run-agent.template', '<%= engine %> -p');
      await expect((await open({ ENGINE_COMMAND: 'scripted' })).engine(null, {})).rejects.toMatchObject(
        refusal,
      );
      await expect((await open()).engine('other', {})).rejects.toMatchObject(refusal);
      const own = await open({ RUN_TEMPLATE: 'mine -p' });
      expect((await own.engine(null, {})).spec).toMatchObject({ runTemplate: 'mine -p' });
    });

    test('also by a name that both the workspace and the user give to an engine', async () => {
      await put('work/.squad/squad.json', '{"engines":{"mine":{"runTemplate":"theirs"}}}');
      await put('user/.config/squad/config.json', '{"engines":{"mine":{"runTemplate":"mine"}}}');
      await expect((await open({ ENGINE_COMMAND: 'mine' })).engine(null, {})).rejects.toMatchObject(refusal);
    });

    test('not by an untrusted template for chats, where chats are opened', async () => {
      await put('work/templates/create-chat.template', 'theirs');
      const env = { RUN_TEMPLATE: 'mine -p' };
      await expect((await open({ ...env, STATE_MODE: 'stateful' })).engine(null, {})).rejects.toMatchObject(
        refusal,
      );
      expect((await (await open(env)).engine(null, {})).spec).toMatchObject({ runTemplate: 'mine -p' });
    });

    test('not where its template cannot be read', async () => {
      await mkdir(join(root, 'work/templates/run-agent.template'), { recursive: true });
      await expect((await open({ ENGINE_COMMAND: 'scripted' })).engine(null, {})).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('the file is a folder'),
      });
    });

    test.each(['templates/run-agent.template', '.squad/squad.json'])(
      'nor where %s is a broken link',
      async path => {
        const file = join(root, 'work', path);
        await mkdir(dirname(file), { recursive: true });
        await symlink('../not-checked-out', file);
        installed = [{ cli: 'claude', program: '/bin/claude', version: '2.0.0', warning: null }];
        await expect(open().then(workspace => workspace.engine(null, {}))).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining('is a symbolic link to ../not-checked-out, which does not exist'),
        });
      },
    );
  });
});

test('a name of a built-in engine is none for an engine of one’s own', async () => {
  await put('user/.config/squad/config.json', '{"engines":{"claude-code":{"runTemplate":"mine"}}}');
  await expect(open()).rejects.toThrow(/is the name of a built-in engine/);
});

test('a configuration of other servers waits for trust, unless it has none', async () => {
  const file = await put('work/.squad/mcp-config.json', '{ "servers": {} }');
  expect(await (await open({})).untrusted()).toEqual([]);
  const text = '{ "servers": { "a": { "command": "a", "tools": [] } } }';
  await put('work/.squad/mcp-config.json', text);
  expect(await (await open({})).untrusted()).toEqual([file]);
  await trust(join(root, 'home'), file, text);
  expect(await (await open({})).untrusted()).toEqual([]);
  await put('work/.squad/mcp-config.json', '{ broken');
  expect(await (await open({})).untrusted()).toEqual([]);
});

describe('grants of a role from a folder that the user named', () => {
  const lead = '---\nspawn: true\n---\nYou lead.';
  const inside = (): Partial<Caller> => ({
    parent: {
      ...{ id: newRunId(), squadId: newSquadId(), depth: 0, spawn: true, worktree: null, records: false },
      ...{ type: null, reviewOf: null, permission: 'edit' as const, tools: null },
      ...{ lineageId: null, isProven: true, sandbox: NO_SANDBOX, parentId: null, messages: [] },
    },
  });
  const spawns = async (folder: string, more: Partial<Caller> = {}) => {
    const workspace = await workspaces().open(caller({ SQUAD_AGENTS_DIR: folder }, more));
    return (await workspace.role('lead')).meta.spawn === true;
  };

  test('holds for the user and for agents when it lies outside the workspace', async () => {
    await put('roles/lead.md', lead);
    expect(await spawns(join(root, 'roles'))).toBe(true);
    expect(await spawns(join(root, 'roles'), inside())).toBe(true);
  });

  test('holds for agents only by its content when they could have written it', async () => {
    const file = await put('work/roles/lead.md', lead);
    await symlink(join(root, 'work', 'roles'), join(root, 'link'));
    for (const folder of ['roles', join(root, 'link')]) {
      expect(await spawns(folder)).toBe(true);
      expect(await spawns(folder, inside())).toBe(false);
    }
    const workspace = await open({ SQUAD_AGENTS_DIR: 'roles' });
    expect(await workspace.untrusted()).toEqual([file]);
    await trust(join(root, 'home'), file, lead);
    expect(await spawns('roles', inside())).toBe(true);
    await put('work/roles/lead.md', `${lead} And more.`);
    expect(await spawns('roles', inside())).toBe(false);
  });

  test('holds for agents only by its content where they may work too', async () => {
    await put('shared/roles/lead.md', lead);
    const roots = [join(root, 'nonesuch'), join(root, 'shared')];
    await put('user/.config/squad/config.json', JSON.stringify({ allowedRoots: roots }));
    expect(await spawns(join(root, 'shared', 'roles'))).toBe(true);
    expect(await spawns(join(root, 'shared', 'roles'), inside())).toBe(false);
  });
});

test('an unusable role is reported once for each fault, however often roles are listed', {
  tags: ['A1'],
}, async () => {
  const file = await put('work/agents/bad.md', '---\nname: [\n---\n');
  const all = workspaces();
  for (let i = 0; i < 3; i++) await (await all.open(caller())).roles();
  expect(faults).toEqual([expect.stringContaining(`${file}: line `)]);
});

test('a request without a folder has to name its workspace', async () => {
  await expect(workspaces().open(caller({}, { cwd: null }))).rejects.toThrow(
    expect.objectContaining({ code: 'WORKSPACE_UNSET' }),
  );
  const named = await workspaces().open(caller({}, { cwd: null, workspace: join(root, 'work') }));
  expect(named.root).toBe(join(root, 'work'));
});
