import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { overlapOf } from '../../src/core/integration/overlap.ts';
import type { RunId } from '../../src/schema/ids.ts';
import type { Worktree } from '../../src/schema/worktree.ts';
import { createIntegration } from '../../src/workspace/integration/integration.ts';
import { type Figure, paired } from '../figure.ts';
import { interleave, timed } from '../measure.ts';
import { git, makeRepository } from '../sample-repository.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const WORKTREES = 20;
const FILES = 10_000;
const MAX_MS = 1_000;

/** Time to find which of many work trees change the same files, compared with the necessary git commands alone. */
export const overlap: Figure = {
  name: 'overlap',
  title: `Overlap of ${WORKTREES} work trees of a repository with ${FILES.toLocaleString('en')} files`,
  async measure() {
    const folder = temporaryFolder();
    try {
      const worktrees = makeWorktrees(folder);
      const integration = createIntegration();
      const ours = () =>
        timed(async () => {
          const touched = await integration.touched(worktrees);
          const { files } = overlapOf(
            touched.map((each, at) => ({ runId: `run_${at}` as RunId, files: each.files ?? [] })),
          );
          if (files.length !== 2) throw new Error(`${files.length} files instead of 2`);
        });
      const pair = await interleave(ours, () => timed(() => byHand(worktrees)));
      return [
        paired('all of them, against the same git commands by xargs', 'ms', pair, {
          target: `≤ ${MAX_MS} ms`,
          isMet: ({ value }) => value <= MAX_MS,
          note: 'a status with every untracked file and a diff against the base branch for each, as many at once as there are cores',
        }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/**
 * Each work tree has a commit, an uncommitted change and a new file, and changes two files that the others change too.
 */
function makeWorktrees(folder: string): Worktree[] {
  const repository = join(folder, 'repository');
  makeRepository(repository, FILES);
  const base = git(repository, 'rev-parse', 'HEAD');
  return Array.from({ length: WORKTREES }, (_, at) => {
    const [path, branch] = [join(folder, `tree-${at}`), `squad/coder/run_${at}`];
    git(repository, 'worktree', 'add', '-q', '-b', branch, path);
    writeFileSync(join(path, 'folder-0', 'file-0.txt'), `of ${at}\n`);
    writeFileSync(join(path, `own-${at}.txt`), 'own\n');
    git(path, 'add', '-A');
    git(path, 'commit', '-q', '-m', 'Work');
    writeFileSync(join(path, 'folder-1', 'file-1.txt'), `of ${at}\n`);
    writeFileSync(join(path, `new-${at}.txt`), 'new\n');
    return { path, branch, repository, base, baseBranch: 'main', workspace: path };
  });
}

const COMMANDS =
  'git -C "$1" --no-optional-locks status --porcelain=v2 -z --untracked-files=all --no-renames >/dev/null & ' +
  'git -C "$1" diff --no-renames --name-only -z main...HEAD >/dev/null; wait';

function byHand(worktrees: readonly Worktree[]): Promise<void> {
  const args = ['-0', '-n1', `-P${availableParallelism()}`, '/bin/sh', '-c', COMMANDS, 'sh'];
  const child = spawn('xargs', args, { stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(worktrees.map(({ path }) => `${path}\0`).join(''));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', code => (code === 0 ? resolve() : reject(new Error(`xargs ended with ${code}`))));
  });
}
