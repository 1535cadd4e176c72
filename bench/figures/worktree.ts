import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newRunId } from '../../src/schema/ids.ts';
import { createWorktrees } from '../../src/workspace/worktrees/worktrees.ts';
import { type Figure, paired, single } from '../figure.ts';
import { interleave, timed } from '../measure.ts';
import { git, makeRepository } from '../sample-repository.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const FILES = 1_000;
const AT_ONCE = 50;
const MAX_TIMES_FLOOR = 1.5;

/** Time to create a work tree in which an agent can start, compared with the git command alone. */
export const worktree: Figure = {
  name: 'worktree',
  title: `A work tree of a repository with ${FILES.toLocaleString('en')} files`,
  async measure() {
    const folder = temporaryFolder();
    try {
      const repository = join(folder, 'repository');
      makeRepository(repository, FILES);
      const worktrees = createWorktrees({ folder: join(folder, 'ours') });
      const make = async () => {
        const ask = { runId: newRunId(), name: 'coder', directory: repository, workspace: repository };
        const { worktree } = await worktrees.plan(ask);
        await worktrees.ensure(worktree, null);
      };
      let count = 0;
      const byHand = async () => {
        const name = `by-hand-${++count}`;
        git(repository, 'worktree', 'add', '-q', '-b', name, join(folder, name));
      };
      const pair = await interleave(
        () => timed(make),
        () => timed(byHand),
      );
      const tookMs = await timed(() => Promise.all(Array.from({ length: AT_ONCE }, make)));
      return [
        paired('planned and ready, against git worktree add', 'ms', pair, {
          target: `≤ ${MAX_TIMES_FLOOR} × floor`,
          isMet: ({ ratio }) => ratio! <= MAX_TIMES_FLOOR,
        }),
        single(`${AT_ONCE} asked for at once, each`, 'ms', tookMs / AT_ONCE, {
          note: 'every one of them is there, or this figure fails',
        }),
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
