import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveCwd, workspaceRoot } from './cwd.ts';

let root: string;
let workspace: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-cwd-')));
  workspace = join(root, 'ws');
  await mkdir(join(workspace, 'client'), { recursive: true });
  await mkdir(join(root, 'ws-other', 'deep'), { recursive: true });
  await mkdir(join(root, 'home'));
  await writeFile(join(workspace, 'file'), '');
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('workspaceRoot', () => {
  const chosen = (given: { flag?: string; variable?: string; cwd?: string }) =>
    workspaceRoot({
      flag: given.flag,
      env: { SQUAD_WORKSPACE: given.variable },
      cwd: given.cwd ?? join(root, 'ws-other'),
      userHome: join(root, 'home'),
    });

  it('takes the flag, then the variable, then the current folder', async () => {
    const variable = join(workspace, 'client');
    expect(await chosen({ flag: workspace, variable })).toEqual({
      ...{ root: workspace, source: '--workspace', notes: [] },
    });
    expect(await chosen({ variable })).toEqual({
      ...{ root: variable, source: 'SQUAD_WORKSPACE', notes: [] },
    });
    expect(await chosen({ variable: '' })).toEqual({
      root: join(root, 'ws-other'),
      source: 'the current folder',
      notes: [],
    });
  });

  describe("with the client's roots", () => {
    const withRoots = (roots: string[], given: { variable?: string; cwd?: string } = {}) =>
      workspaceRoot({
        env: { SQUAD_WORKSPACE: given.variable },
        cwd: given.cwd ?? '/',
        userHome: join(root, 'home'),
        roots,
      });

    it.each(['/', 'home'])('takes the one root where the current folder is %s', async cwd => {
      expect(await withRoots([workspace], { cwd: join(root, cwd === '/' ? '../../../..' : cwd) })).toEqual({
        ...{ root: workspace, source: "the client's roots", notes: [] },
      });
    });

    it('takes the first of several that is in a git repository, and says so', async () => {
      const [first, second] = [join(workspace, 'client'), join(root, 'ws-other', 'deep')];
      expect(await withRoots(['/', first, second])).toMatchObject({
        root: first,
        notes: [expect.stringMatching(/3 roots.*client, the first usable one.*--workspace/)],
      });
      await mkdir(join(second, '.git', 'objects'), { recursive: true });
      await mkdir(join(second, '.git', 'refs'));
      await writeFile(join(second, '.git', 'HEAD'), 'ref: refs/heads/main\n');
      expect(await withRoots(['/', first, second])).toMatchObject({
        root: second,
        notes: [expect.stringContaining('the first in a git repository')],
      });
    });

    it('asks them for nothing that something else says', async () => {
      expect((await withRoots([workspace], { cwd: join(root, 'ws-other') })).root).toBe(
        join(root, 'ws-other'),
      );
      await expect(withRoots([workspace], { variable: join(root, 'gone') })).rejects.toMatchObject({
        message: expect.stringContaining('SQUAD_WORKSPACE'),
      });
      await expect(withRoots(['/', join(root, 'gone')])).rejects.toMatchObject({
        code: 'WORKSPACE_REFUSED',
        message: expect.stringContaining('the current folder'),
      });
    });
  });

  it('takes a relative path from the current folder and resolves links', async () => {
    await symlink('ws', join(root, 'link'));
    expect((await chosen({ flag: '../link/client' })).root).toBe(join(workspace, 'client'));
  });

  it.each([
    ['the whole file system', () => ({ cwd: '/' }), 'is the whole file system'],
    ['the whole file system by another name', () => ({ flag: '/tmp/..' }), 'is the whole file system'],
    ['the home folder', () => ({ variable: join(root, 'home') }), 'is your home folder'],
    ['a link to the home folder', () => ({ flag: join(root, 'to-home') }), 'is your home folder'],
    ['a missing folder', () => ({ flag: join(root, 'gone') }), 'does not exist'],
    ['a file', () => ({ flag: join(workspace, 'file') }), 'is not a folder'],
  ])('refuses %s and says how to set another', async (_, given, why) => {
    await symlink('home', join(root, 'to-home'));
    await expect(chosen(given())).rejects.toMatchObject({
      code: 'WORKSPACE_REFUSED',
      message: expect.stringContaining(why),
      suggestions: [expect.stringMatching(/--workspace DIR.*SQUAD_WORKSPACE/)],
    });
  });

  it('names the header when the workspace came in one, and takes no relative path from it', async () => {
    const named = (flag: string) =>
      workspaceRoot({ flag, isHeader: true, env: {}, cwd: '/', userHome: join(root, 'home') });
    expect(await named(workspace)).toEqual({
      root: workspace,
      source: 'the Squad-Workspace header',
      notes: [],
    });
    await expect(named(join(root, 'gone'))).rejects.toMatchObject({
      code: 'WORKSPACE_REFUSED',
      message: expect.stringContaining('(from the Squad-Workspace header)'),
      suggestions: [expect.stringContaining('Squad-Workspace: /')],
    });
    for (const given of ['ws', './ws', ''])
      await expect(named(given)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('takes a project inside the home folder', async () => {
    await mkdir(join(root, 'home', 'project'));
    expect((await chosen({ flag: join(root, 'home', 'project') })).root).toBe(join(root, 'home', 'project'));
  });
});

describe('resolveCwd', () => {
  const resolved = (cwd?: string, allowedRoots: string[] = []) =>
    resolveCwd({ workspace, cwd, allowedRoots });

  it('is the workspace when none is given', async () => {
    expect(await resolved()).toEqual({ directory: workspace });
    expect(await resolved('')).toEqual({ directory: workspace });
    expect(await resolved('.')).toEqual({ directory: workspace });
  });

  it('starts from the workspace', async () => {
    expect(await resolved('client')).toEqual({ directory: join(workspace, 'client') });
    expect(await resolved('client/../client/')).toEqual({ directory: join(workspace, 'client') });
    expect(await resolved(join(workspace, 'client'))).toEqual({ directory: join(workspace, 'client') });
  });

  it('follows links that stay inside, from either side', async () => {
    await symlink('client', join(workspace, 'alias'));
    await symlink('ws', join(root, 'way-in'));
    expect(await resolved('alias')).toEqual({ directory: join(workspace, 'client') });
    expect(await resolved(join(root, 'way-in', 'client'))).toEqual({ directory: join(workspace, 'client') });
  });

  it('takes folders whose names begin with dots', async () => {
    await mkdir(join(workspace, '..data'));
    expect(await resolved('..data')).toEqual({ directory: join(workspace, '..data') });
  });

  it.each(['..', '../ws-other', '/', '/etc', '../gone', '/no/such/place', 'out', 'out/deep'])(
    'refuses %s, outside the workspace',
    { tags: ['path-traversal'] },
    async cwd => {
      await symlink('../ws-other', join(workspace, 'out'));
      await expect(resolved(cwd)).rejects.toMatchObject({ code: 'CWD_OUTSIDE_WORKSPACE' });
    },
  );

  it('allows what the user allows, also by a link', async () => {
    await symlink('ws-other', join(root, 'allowed'));
    const other = join(root, 'ws-other');
    expect(await resolved('../ws-other/deep', [other])).toEqual({ directory: join(other, 'deep') });
    expect(await resolved('../ws-other', [join(root, 'allowed')])).toEqual({ directory: other });
    await expect(resolved('../home', [other, join(root, 'gone')])).rejects.toMatchObject({
      code: 'CWD_OUTSIDE_WORKSPACE',
    });
  });

  it.each([
    ['gone', 'CWD_MISSING'],
    ['client/gone/deeper', 'CWD_MISSING'],
    ['broken', 'CWD_MISSING'],
    ['file', 'CWD_NOT_A_FOLDER'],
    ['a\0b', 'INVALID_TEXT'],
  ])('refuses %j as %s', async (cwd, code) => {
    await symlink('nowhere', join(workspace, 'broken'));
    await expect(resolved(cwd)).rejects.toMatchObject({ code });
  });
});
