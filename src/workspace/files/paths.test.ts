import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { branchOf, folderFor, pathArgument, pathText } from './paths.ts';

const bytes = (text: string) => Buffer.from(text).toString('latin1');

test.each([
  ['src/a b.ts', 'src/a b.ts'],
  ['grüße/文.txt', 'grüße/文.txt'],
  ['two\nlines', '"two\\nlines"'],
  ['say "hi" \\o/', '"say \\"hi\\" \\\\o/"'],
  ['bell\u0007', '"bell\\007"'],
  ['right\u202Eleft', '"right\\342\\200\\256left"'],
])('%j is shown as %s', (path, shown) => expect(pathText(bytes(path))).toBe(shown));

test('bytes that are no text are shown by number, and cannot be an argument', () => {
  expect(pathText('a\xff/b')).toBe('"a\\377/b"');
  expect(pathArgument('a\xff/b')).toBeNull();
  expect(pathArgument(bytes('grüße'))).toBe('grüße');
});

test('whatever a role is called, git takes the branch', () => {
  const names = [
    'coder',
    'a b',
    '..',
    '.x.',
    'x.lock',
    'x.lock.lock',
    '@{',
    'a/b',
    'ä~^:?*[\\',
    '',
    '-',
    '日本 語',
    '\u0007',
    'x'.repeat(300),
    `${'x'.repeat(39)}😀`,
  ];
  for (const name of names) {
    const branch = branchOf(name, 'run_1');
    expect(branch).toMatch(/^squad\/[^/]+\/run_1$/);
    expect(String(execFileSync('git', ['check-ref-format', '--branch', branch])).trim()).toBe(branch);
  }
  expect(branchOf('code-reviewer', 'run_1')).toBe('squad/code-reviewer/run_1');
  expect(branchOf('..', 'run_1')).toBe('squad/agent/run_1');
});

test('two repositories of one name have a folder each', () => {
  const [one, other] = [folderFor('/w', '/a/my app/.git'), folderFor('/w', '/b/my app/.git')];
  expect(one).toMatch(/^\/w\/my-app-[0-9a-f]{8}$/);
  expect(one).not.toBe(other);
  expect(folderFor('/w', '/srv/thing.git')).toMatch(/^\/w\/thing-/);
  expect(folderFor('/w', '/a/.../.git')).toMatch(/^\/w\/repository-/);
});
