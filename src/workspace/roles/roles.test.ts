import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RolesFolder, readRole, readRoles } from './roles.ts';

const anyone = async () => true;
let root: string;
let folder: RolesFolder;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-roles-')));
  folder = { directory: join(root, 'agents'), from: 'workspace', why: '', charters: false };
  await mkdir(folder.directory);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, content: string | Buffer): Promise<string> {
  const file = join(folder.directory, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}
const listed = async () => (await readRoles(folder, anyone)).map(({ id }) => id);
const faultOf = async (id: string) => (await readRoles(folder, anyone)).find(role => role.id === id)?.fault;

describe('readRoles', () => {
  it('parses a long head in another thread, so that the hub can serve others', async () => {
    let threads = 0;
    const count = () => threads++;
    process.on('worker', count);
    await put('a.md', `---\nname: A\ntools: [${'Read, '.repeat(2_000)}Bash]\n---\nYou are A.\n`);
    const [role] = await readRoles(folder, anyone);
    process.off('worker', count);
    expect(role).toMatchObject({ name: 'A', body: 'You are A.', fault: null });
    expect(role!.meta.tools).toHaveLength(2_001);
    expect(threads).toBe(1);
  });

  it.each([
    ['was removed', async (directory: string) => rm(directory, { recursive: true })],
    [
      'became a file',
      async (directory: string) => {
        await rm(directory, { recursive: true });
        await writeFile(directory, '');
      },
    ],
  ])('reports a folder that %s after it was found, and no bug', async (_what, change) => {
    await put('a.md', 'You are A.\n');
    await change(folder.directory);
    const refusal = { code: 'ROLES_MISSING', message: expect.stringContaining(folder.directory) };
    await expect(readRoles(folder, anyone)).rejects.toMatchObject(refusal);
    await expect(readRole(folder, 'a', anyone)).rejects.toMatchObject(refusal);
  });

  it('reports a charter whose folder goes away while it is read as a fault of that role', async () => {
    folder = { ...folder, charters: true };
    await put('lead/charter.md', '---\nspawn: true\n---\nYou lead.\n');
    await put('other.md', 'You are another.\n');
    const goes = async () => {
      await rm(folder.directory, { recursive: true });
      return true;
    };
    const roles = await readRoles(folder, goes);
    expect(roles.map(({ id, fault }) => [id, fault === null])).toEqual([
      ['lead', true],
      ['other', false],
    ]);
  });

  it('gives one role for each Markdown file, by id', async () => {
    await put('b.md', '---\nname: Bee\ndescription: "  Buzzes  "\n---\nYou are B.\n');
    const file = await put('a.md', 'You are A.\n');
    await put('README.md', '# Roles');
    await put('notes.txt', 'x');
    await put('.hidden.md', 'x');
    await put('.md', 'x');
    await mkdir(join(folder.directory, 'folder.md'));
    const roles = await readRoles(folder, anyone);
    expect(roles.map(({ id }) => id)).toEqual(['README', 'a', 'b']);
    expect(roles[1]).toEqual({
      ...{ id: 'a', name: 'a', description: '', body: 'You are A.', meta: {} },
      ...{ file, fault: null, warnings: [], ungranted: [], wantedMcp: [] },
    });
    expect(roles[2]).toMatchObject({ name: 'Bee', description: 'Buzzes', body: 'You are B.' });
  });

  it('leaves out a byte order mark', async () => {
    await put('a.md', '\ufeff---\nname: A\n---\nBody');
    expect(await readRoles(folder, anyone)).toMatchObject([{ name: 'A', body: 'Body', fault: null }]);
  });

  it('lets a file that is not trusted only ask for more confinement', { tags: ['I1'] }, async () => {
    const read = async (head: string, trusted = false) => {
      await put('a.md', `---\n${head}\n---\nYou are A.`);
      const [role] = await readRoles(folder, async () => trusted);
      return role!;
    };
    expect(await read('sandbox: off\nnetwork: full\nhosts: [a.example]')).toMatchObject({
      ...{ meta: {}, ungranted: ['sandbox', 'network', 'hosts'], isUntrusted: true },
    });
    expect(await read('sandbox: strict\nnetwork: none')).toMatchObject({
      ...{ meta: { sandbox: 'strict', network: 'none' }, ungranted: [], isUntrusted: true },
    });
    const trusted = await read('sandbox: off\nhosts: [A.example, "*.b.example:8443"]', true);
    expect(trusted).toMatchObject({ ungranted: [] });
    expect(trusted.meta).toEqual({ sandbox: 'off', hosts: ['a.example', '*.b.example:8443'] });
    expect((await read('hosts: ["a.*.example"]')).fault).toContain('list of host names');
    expect((await read('sandbox: maybe')).fault).toContain('off, workspace or strict');
  });

  it('lists a broken role under its id, with the fault', { tags: ['A1'] }, async () => {
    await put('a.md', '---\nname: A\ndescription: x\ntype: boss\n---\nBody');
    await put('b.md', 'fine');
    expect(await readRoles(folder, anyone)).toMatchObject([
      { id: 'a', name: 'a', description: '', fault: 'line 4: "type" must be planning, coding or review' },
      { id: 'b', fault: null },
    ]);
  });

  it('reads a file of one megabyte and no larger', async () => {
    await put('big.md', 'x'.repeat(1024 * 1024));
    await put('bigger.md', 'x'.repeat(1024 * 1024 + 1));
    expect(await faultOf('big')).toBeNull();
    expect(await faultOf('bigger')).toContain('is 1048577 bytes');
  });

  it.each([
    ['text that is not UTF-8', Buffer.from([0x61, 0xff]), 'is not UTF-8 text'],
    ['a NUL', 'a\0b', 'holds a NUL character'],
  ])('finds fault with %s', async (_, content, fault) => {
    await put('a.md', content);
    expect(await faultOf('a')).toBe(fault);
  });

  it('follows links inside the folder and none that lead out', { tags: ['symlinks-and-races'] }, async () => {
    await put('real.md', 'inside');
    await writeFile(join(root, 'secret.md'), 'outside');
    await symlink('real.md', join(folder.directory, 'alias.md'));
    await symlink('../secret.md', join(folder.directory, 'out.md'));
    await symlink('/etc/passwd', join(folder.directory, 'passwd.md'));
    await symlink('gone.md', join(folder.directory, 'broken.md'));
    await symlink('loop.md', join(folder.directory, 'loop.md'));
    const roles = Object.fromEntries((await readRoles(folder, anyone)).map(role => [role.id, role]));
    expect(roles.alias).toMatchObject({ body: 'inside', fault: null });
    expect(roles.out).toMatchObject({ body: '', fault: 'is a symbolic link out of the roles folder' });
    expect(roles.passwd).toMatchObject({ body: '', fault: 'is a symbolic link out of the roles folder' });
    expect(roles.broken?.fault).toBe('is a symbolic link that leads nowhere');
    expect(roles.loop?.fault).toContain('leads to itself');
  });

  it('works in a folder that is itself a link', async () => {
    await put('a.md', 'x');
    await symlink('agents', join(root, 'linked'));
    folder = { ...folder, directory: join(root, 'linked') };
    expect(await faultOf('a')).toBeNull();
  });

  it('does not wait on a pipe', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(folder.directory, 'pipe.md')]);
    expect(await faultOf('pipe')).toBe('is not a regular file');
  });

  it('warns about unknown keys and an empty body', async () => {
    await put('a.md', '---\ncolour: red\n---\n');
    expect(await readRoles(folder, anyone)).toMatchObject([
      {
        fault: null,
        warnings: [
          'line 2: the key "colour" is not known to Squad and has no effect',
          'the role has no body',
        ],
      },
    ]);
  });

  it('takes charters only where they are roles', { tags: ['B11'] }, async () => {
    await put('keaton/charter.md', '# Keaton');
    await put('keaton/history.md', 'x');
    await put('empty/notes.md', 'x');
    await put('twin.md', 'file');
    await put('twin/charter.md', 'charter');
    expect(await listed()).toEqual(['twin']);
    folder = { ...folder, charters: true };
    expect(await readRoles(folder, anyone)).toMatchObject([
      { id: 'keaton', body: '# Keaton', warnings: [] },
      { id: 'twin', body: 'file', warnings: [expect.stringContaining('charter.md has the same id')] },
    ]);
  });

  it('does not follow a folder of a charter out of the roles folder', async () => {
    await mkdir(join(root, 'elsewhere'));
    await writeFile(join(root, 'elsewhere', 'charter.md'), 'outside');
    await symlink('../elsewhere', join(folder.directory, 'spy'));
    folder = { ...folder, charters: true };
    expect(await faultOf('spy')).toBe('is a symbolic link out of the roles folder');
  });
});

describe('readRole', () => {
  beforeEach(async () => {
    await put('frontend-developer.md', 'You build UIs.');
    await put('coder.md', 'You code.');
    await put('broken.md', '---\nname: [\n---\n');
    await writeFile(join(root, 'secret.md'), 'outside');
  });

  it('gives the role of that id', async () => {
    expect(await readRole(folder, 'coder', anyone)).toMatchObject({ id: 'coder', body: 'You code.' });
  });

  it.each([
    ['frontend-develper', 'Did you mean frontend-developer?'],
    ['Coder', 'Did you mean coder?'],
    ['coder.md', 'Did you mean coder?'],
    ['zzz', 'The roles are: broken, coder, frontend-developer.'],
  ])('suggests for %j', async (id, suggestion) => {
    await expect(readRole(folder, id, anyone)).rejects.toMatchObject({
      code: 'ROLE_UNKNOWN',
      suggestions: expect.arrayContaining([suggestion]),
    });
  });

  it.each([
    '',
    '.',
    '..',
    '../secret',
    './coder',
    'a/../coder',
    '/etc/passwd',
    '..\\secret',
    'coder\0',
    '.hidden',
  ])('knows no role %j', async id => {
    await put('.hidden.md', 'x');
    await expect(readRole(folder, id, anyone)).rejects.toMatchObject({ code: 'ROLE_UNKNOWN' });
  });

  it.each([
    ['workspace', 'in agents/'],
    ['squad_folder', 'in .squad/agents/'],
    ['setting', 'in the configured roles folder (`squad roles` shows its path)'],
    ['shipped', 'among the roles that come with Squad'],
  ] as const)(
    'says of an unknown role where it looked, without a path of the machine: %s',
    async (from, place) => {
      await expect(readRole({ ...folder, from }, 'zzz', anyone)).rejects.toMatchObject({
        message: `There is no role "zzz" ${place}.`,
      });
    },
  );

  it('names file and reason of a role that cannot be run', async () => {
    await expect(readRole(folder, 'broken', anyone)).rejects.toMatchObject({
      code: 'ROLE_INVALID',
      message: expect.stringMatching(/role "broken" cannot be run: .*broken\.md: line \d+: /),
    });
  });
});
