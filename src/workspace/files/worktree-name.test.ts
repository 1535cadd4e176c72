import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { branchOf, folderFor } from './paths.ts';

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
