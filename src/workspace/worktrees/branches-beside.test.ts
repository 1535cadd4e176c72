import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BranchFixture } from '../testing/branch-fixture.ts';
import { createBranches } from './run-branch.ts';

let at: BranchFixture;
beforeEach(() => {
  at = new BranchFixture();
});
afterEach(() => at.remove());

/** Ours, with an agent that does this just before we ask for the first time where the branch is. */
function besideAgent(script: string) {
  const { folder, env } = at.repo;
  const bin = join(folder, 'bin');
  const git = execFileSync('/bin/sh', ['-c', 'command -v git'], { env, encoding: 'utf8' }).trim();
  const clean = `env -i PATH="${env.PATH}" HOME="${env.HOME}" /bin/sh -e "${join(bin, 'agent')}"`;
  mkdirSync(bin);
  writeFileSync(join(bin, 'agent'), `cd "${at.root}"\n${script}\n`);
  writeFileSync(
    join(bin, 'git'),
    [
      '#!/bin/sh',
      `case "$*" in *for-each-ref*) mkdir "${join(folder, 'done')}" 2>/dev/null && ${clean} >&2 ;; esac`,
      `exec "${git}" "$@"`,
      '',
    ].join('\n'),
    { mode: 0o755 },
  );
  return createBranches({ env: { ...env, PATH: `${bin}:${env.PATH}` } });
}

const COMMIT = 'git -c user.name=A -c user.email=a@a commit -q';

test('a commit of an agent meanwhile is not undone, not even where its folder does not show it', async () => {
  at.git('update-index', '--skip-worktree', 'sub/b.txt');
  rmSync(join(at.root, 'sub/b.txt'));
  at.write('new.txt', 'new\n');
  const branches = besideAgent(`
    oid=$(echo theirs | git hash-object -w --stdin)
    git update-index --cacheinfo 100644,$oid,sub/b.txt
    git update-index --skip-worktree sub/b.txt
    ${COMMIT} -m Theirs`);
  const move = (await branches.prepareAll(at.worktree, 'Work'))!;
  expect(at.subjects()[0]).toBe('Theirs');
  expect(move.from).toBe(at.tip());
  expect(at.shown('sub/b.txt', move.to)).toBe('theirs\n');
  expect(at.shown('new.txt', move.to)).toBe('new\n');
});

test('when an agent switches to another branch meanwhile, the error names that branch', async () => {
  at.write('new.txt', 'new\n');
  const branches = besideAgent('git switch -qc other');
  await expect(branches.prepareAll(at.worktree, 'Work')).rejects.toMatchObject({
    code: 'UNCOMMITTABLE',
    message: expect.stringContaining('it is on the branch other'),
  });
});
