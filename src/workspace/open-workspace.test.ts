import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Caller } from '../core/ports/workspace.ts';
import type { InstalledCli } from '../schema/engine-spec.ts';
import { newRunId, newSquadId } from '../schema/ids.ts';
import { createWorkspaces } from './open-workspace.ts';
import { trust } from './trust.ts';

let root: string;
let faults: string[];
let installed: InstalledCli[];

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-workspace-')));
  await put('work/agents/coder.md', '---\nname: Coder\n---\nYou code.');
  faults = [];
  installed = [];
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
    engines: { find: async () => null, installed: async () => installed },
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

  test('is the first installed agent CLI when nothing is set, and that is said', async () => {
    installed = [{ cli: 'codex', program: '/bin/codex', version: '1.2.3', warning: 'untried' }];
    const { spec, notes } = await (await open()).engine(null, {});
    expect(spec).toEqual({ kind: 'cli', cli: 'codex', program: '/bin/codex', version: '1.2.3' });
    expect(notes).toEqual([expect.stringContaining('No engine is set: using codex 1.2.3'), 'untried']);
  });

  test('is one of the user, by its name, with the events it prints', async () => {
    await put('work/.squad/squad.json', '{"engines":{"mine":{"runTemplate":"evil"}}}');
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

  test("is not what a repository's role file says until the user has trusted that file", async () => {
    const text = '---\nengine: ./evil.sh\n---\nYou code.';
    const file = await put('work/agents/coder.md', text);
    const env = { ENGINE_COMMAND: 'claude', RUN_TEMPLATE: '<%= engine %> -p' };
    const before = await open(env);
    const role = await before.role('coder');
    expect((await before.engine(role.meta.engine ?? null, {})).spec).toMatchObject({
      engineCommand: 'claude',
    });
    expect(role.warnings).toEqual([
      expect.stringContaining('"engine" has no effect until you trust the file'),
    ]);
    expect(await before.untrusted()).toEqual([file]);

    await trust(join(root, 'home'), file, text);
    const after = await open(env);
    const { meta } = await after.role('coder');
    expect((await after.engine(meta.engine ?? null, {})).spec).toMatchObject({ engineCommand: './evil.sh' });
    expect(await after.untrusted()).toEqual([]);
  });
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

describe('what a role grants from a folder that the user named', () => {
  const lead = '---\nspawn: true\n---\nYou lead.';
  const inside = (): Partial<Caller> => ({
    parent: {
      ...{ id: newRunId(), squadId: newSquadId(), depth: 0, spawn: true, worktree: null, records: false },
      ...{ type: null, reviewOf: null, permission: 'edit' as const, tools: null },
      ...{ lineageId: null, isProven: true },
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

test('a role that cannot be used is told once for each fault, however often roles are listed', async () => {
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
