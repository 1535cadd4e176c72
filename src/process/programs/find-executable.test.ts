import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findExecutable } from './find-executable.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-find-'));
afterAll(() => rmSync(root, { recursive: true }));
for (const folder of ['a', 'b', 'a/folder']) mkdirSync(join(root, folder));
for (const name of ['a/plain', 'b/plain', 'b/tool', 'here']) writeFileSync(join(root, name), '');
for (const name of ['b/plain', 'b/tool', 'here']) chmodSync(join(root, name), 0o755);
symlinkSync(join(root, 'b/tool'), join(root, 'a/link'));
symlinkSync(join(root, 'nowhere'), join(root, 'a/dangling'));

const path = `${join(root, 'a')}:${join(root, 'none')}:${join(root, 'b')}`;
const found = (name: string) => ({ status: 'found', path: join(root, name) });
const blocked = (name: string) => ({ status: 'not_executable', path: join(root, name) });
const missing = { status: 'not_found' };

test.each([
  ['the first folder of PATH that has it', 'tool', found('b/tool')],
  ['a later one, when the first cannot be run', 'plain', found('b/plain')],
  ['a link', 'link', found('a/link')],
  ['not a link to nowhere', 'dangling', missing],
  ['not a folder', 'folder', blocked('a/folder')],
  ['not from the current folder', 'here', missing],
  ['a path from the current folder', './here', found('here')],
  ['a path below it', 'b/tool', found('b/tool')],
  ['an absolute path', join(root, 'b/tool'), found('b/tool')],
  ['a file without the right', 'a/plain', blocked('a/plain')],
  ['nothing for no name', '', missing],
  ['nothing for a name with NUL', 'to\0ol', missing],
])('finds %s', (_, name, expected) => {
  expect(findExecutable(name, { path, cwd: root })).toEqual(expected);
});

test('an empty part of PATH is the current folder', () => {
  expect(findExecutable('here', { path: '/none:', cwd: root })).toEqual(found('here'));
});
