import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { homeFault, homeFolder, isOwnFolder, ownFolder, socketPath } from './home.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-home-'));
afterAll(() => rmSync(root, { recursive: true }));

const mode = (path: string) => statSync(path).mode & 0o777;

test('the home is SQUAD_HOME, or a folder of the state folder, or of the home folder', () => {
  expect(homeFolder({ SQUAD_HOME: '/a/../b', XDG_STATE_HOME: '/x', HOME: '/h' })).toBe('/b');
  expect(homeFolder({ XDG_STATE_HOME: '/x', HOME: '/h' })).toBe('/x/squad');
  expect(homeFolder({ HOME: '/h', SQUAD_HOME: '' })).toBe('/h/.local/state/squad');
  expect(homeFolder({ HOME: '/h', XDG_STATE_HOME: 'state' }), 'a relative one is ignored').toBe(
    '/h/.local/state/squad',
  );
});

test('the socket is in the home up to 100 bytes, counted as the system counts; beyond that it is short, and of this home only', () => {
  const fits = `/${'d'.repeat(90)}`;
  expect(socketPath(fits)).toBe(`${fits}/hub.sock`);
  const deep = `/${'é'.repeat(50)}`;
  expect(Buffer.byteLength(socketPath(deep))).toBeLessThanOrEqual(100);
  expect(socketPath(deep)).toBe(socketPath(deep));
  expect(socketPath(deep)).not.toBe(socketPath(`${deep}e`));
  expect(dirname(socketPath(deep))).toBe(dirname(socketPath(`${deep}e`)));
});

test('a short socket avoids a folder that somebody else made first, and stays where it is', () => {
  const deep = `/${'é'.repeat(50)}`;
  const folders = ['one', 'two'].map(name => join(root, name));
  const [first, second] = folders.map(folder => join(folder, `squad-${userInfo().uid}`));
  for (const folder of folders) ownFolder(folder);
  const path = () => socketPath(deep, folders);
  expect(dirname(path())).toBe(first);
  writeFileSync(first!, '');
  expect(dirname(path())).toBe(second);
  ownFolder(second!);
  writeFileSync(path(), '');
  rmSync(first!);
  expect(dirname(path()), 'the hub listens there').toBe(second);
});

test('a folder is made with its parents, or closed to others if it was open', () => {
  const folder = join(root, 'a', 'b');
  ownFolder(folder);
  expect([mode(folder), mode(dirname(folder))]).toEqual([0o700, 0o700]);
  chmodSync(folder, 0o777);
  expect(isOwnFolder(folder)).toBe(false);
  ownFolder(folder);
  expect(mode(folder)).toBe(0o700);
  expect(isOwnFolder(folder)).toBe(true);
});

test("a link of the user's own is followed", () => {
  const folder = join(root, 'real');
  mkdirSync(folder, { mode: 0o700 });
  symlinkSync(folder, join(root, 'link'));
  ownFolder(join(root, 'link'));
  expect(isOwnFolder(join(root, 'link'))).toBe(true);
});

test.each([
  ['a file', () => writeFileSync(join(root, 'file'), ''), 'file'],
  ['a link to nowhere', () => symlinkSync(join(root, 'nowhere'), join(root, 'dangling')), 'dangling'],
])('%s is refused with a next step', (_what, make, name) => {
  make();
  expect(() => ownFolder(join(root, name))).toThrow(
    expect.objectContaining({ code: 'HOME_UNUSABLE', suggestions: [expect.stringContaining('SQUAD_HOME')] }),
  );
  expect(isOwnFolder(join(root, name))).toBe(false);
});

test('a folder that is missing or belongs to another user is not trusted', {
  tags: ['symlinks-and-races'],
}, () => {
  expect(isOwnFolder('/proc/1')).toBe(process.getuid?.() === 0);
  expect(isOwnFolder('/tmp')).toBe(false);
  expect(isOwnFolder(join(root, 'absent'))).toBe(false);
});

test.each(['/dev/null/x/y', '/proc/x/y'])('%s cannot be a home, and that is said at once', path => {
  expect(isOwnFolder(path)).toBe(false);
  expect(() => ownFolder(path)).toThrow(
    expect.objectContaining({ code: 'HOME_UNUSABLE', message: expect.stringContaining(path) }),
  );
});

test('a home that is not there yet has no fault, and neither has one that is; below a file there can be none', () => {
  expect(homeFault('/dev/null/x')).toBe('/dev/null/x cannot be created: /dev/null is not a folder');
  expect(homeFault(join(root, 'not', 'yet'))).toBeNull();
  expect(homeFault(root)).toBeNull();
});
