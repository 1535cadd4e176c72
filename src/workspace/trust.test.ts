import { mkdir, mkdtemp, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
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
  it('is given to one content of one file', async () => {
    expect(await isTrusted(home, file, 'one')).toBe(false);
    await trust(home, file, 'one');
    expect(await isTrusted(home, file, 'one')).toBe(true);
    expect(await isTrusted(home, file, 'two')).toBe(false);
    expect(await isTrusted(home, join(root, 'other.json'), 'one')).toBe(false);
  });

  it('keeps earlier contents and other files', async () => {
    await trust(home, file, 'one');
    await trust(home, file, 'two');
    await trust(home, join(root, 'other.json'), 'x');
    expect(await isTrusted(home, file, 'one')).toBe(true);
    expect(await isTrusted(home, file, 'two')).toBe(true);
  });

  it('is taken back for every content of the file', async () => {
    await trust(home, file, 'one');
    await trust(home, file, 'two');
    await trust(home, join(root, 'other.json'), 'x');
    expect(await untrust(home, file)).toBe(true);
    expect(await untrust(home, file)).toBe(false);
    expect(await isTrusted(home, file, 'one')).toBe(false);
    expect(await isTrusted(home, file, 'two')).toBe(false);
    expect(await isTrusted(home, join(root, 'other.json'), 'x')).toBe(true);
  });

  it('knows a file by every way to its folder', async () => {
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'link'));
    await writeFile(join(root, 'real', 'a'), 'x');
    await trust(home, join(root, 'link', 'a'), 'x');
    expect(await isTrusted(home, join(root, 'real', 'a'), 'x')).toBe(true);
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
