import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isTrusted, trust, untrust } from './trust.ts';

let root: string;
let home: string;
let file: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-trust-')));
  home = join(root, 'home', 'squad');
  file = join(root, 'squad.json');
  await writeFile(file, 'one');
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe('trust', () => {
  it('is given to one content of one file', { tags: ['B2'] }, async () => {
    expect(await isTrusted(home, file, 'one')).toBe(false);
    await trust(home, file, 'one');
    expect(await isTrusted(home, file, 'one')).toBe(true);
    expect(await isTrusted(home, file, 'two')).toBe(false);
    expect(await isTrusted(home, join(root, 'other.json'), 'one')).toBe(false);
  });

  it('is for the content that was trusted last: an older one that comes back asks again', async () => {
    await trust(home, join(root, 'other.json'), 'x');
    await trust(home, file, 'one');
    await trust(home, file, 'two');
    expect(await isTrusted(home, file, 'one')).toBe(false);
    expect(await isTrusted(home, file, 'two')).toBe(true);
    expect(await isTrusted(home, join(root, 'other.json'), 'x')).toBe(true);
    await trust(home, file, 'one');
    expect(await isTrusted(home, file, 'one')).toBe(true);
    expect(await isTrusted(home, file, 'two')).toBe(false);
  });

  it('counts only the last of several contents in a record of an older Squad', async () => {
    await trust(home, file, 'one');
    const record = join(home, 'trust.json');
    const { files } = JSON.parse(await readFile(record, 'utf8')) as { files: Record<string, string[]> };
    const [first] = files[file]!;
    await trust(home, file, 'two');
    const both = (await readFile(record, 'utf8')).replace('"sha256:', `"${first}", "sha256:`);
    await writeFile(record, both);
    expect(await isTrusted(home, file, 'one')).toBe(false);
    expect(await isTrusted(home, file, 'two')).toBe(true);
  });

  it('is taken back', async () => {
    await trust(home, file, 'one');
    await trust(home, join(root, 'other.json'), 'x');
    expect(await untrust(home, file)).toBe(true);
    expect(await untrust(home, file)).toBe(false);
    expect(await isTrusted(home, file, 'one')).toBe(false);
    expect(await isTrusted(home, join(root, 'other.json'), 'x')).toBe(true);
  });

  it('is not lost when much is trusted at once', async () => {
    const names = Array.from({ length: 20 }, (_, at) => join(root, `${at}.json`));
    await Promise.all(names.map(name => trust(home, name, 'x')));
    expect(await Promise.all(names.map(name => isTrusted(home, name, 'x')))).toEqual(Array(20).fill(true));
    expect(await readdir(home)).toEqual(['trust.json']);
  });

  it('knows a file by every way to its folder', async () => {
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'link'));
    await writeFile(join(root, 'real', 'a'), 'x');
    await trust(home, join(root, 'link', 'a'), 'x');
    expect(await isTrusted(home, join(root, 'real', 'a'), 'x')).toBe(true);
    await rm(join(root, 'real', 'a'));
    expect(await untrust(home, join(root, 'link', 'a'))).toBe(true);
  });

  it('does not depend on whether a byte order mark was read', async () => {
    await trust(home, file, '\ufeffone');
    expect(await isTrusted(home, file, 'one')).toBe(true);
  });

  it('is kept for the user alone and leaves nothing else behind', async () => {
    await trust(home, file, 'one');
    expect((await stat(join(home, 'trust.json'))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(await readdir(home)).toEqual(['trust.json']);
  });

  it('is not guessed from a broken record', async () => {
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'trust.json'), '{ "version": 1, "files": { "a": true } }');
    await expect(isTrusted(home, file, 'one')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(trust(home, file, 'one')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
