import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { newRunId } from '../../src/schema/ids.ts';
import { createWorktrees } from '../../src/workspace/worktrees/worktrees.ts';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, paired, sampled } from '../figure.ts';
import { interleave, timed, until } from '../measure.ts';
import { git, makeRepository } from '../sample-repository.ts';

const FILES = 1_000;
const MAX_OVER_WORKTREE_MS = 50;
const TASK = ['Work.', '```script', 'write new.txt', '| new', 'call request_review', '```'].join('\n');

/** Time until a review has started (commit, work tree, run), and the time for the work tree alone. */
export const requestReview: Figure = {
  name: 'request-review',
  title: `request_review in a repository with ${FILES.toLocaleString('en')} files`,
  async measure() {
    await using squad = new BenchSquad();
    makeRepository(squad.workspace, FILES);
    const roles = join(squad.workspace, '.squad', 'agents');
    mkdirSync(roles, { recursive: true });
    writeFileSync(join(roles, 'coder.md'), '---\ntype: coding\nisolation: worktree\n---\nYou code.\n');
    writeFileSync(join(roles, 'reviewer.md'), '---\ntype: review\n---\nYou review.\n');
    await squad.squad('trust', '--yes');
    await squad.squad('config', 'set', 'limits.spawns_per_minute', '10000');
    await squad.squad('config', 'set', 'tmux.sessions', 'off');
    const database = new Database(join(squad.home, 'squad.db'), { readonly: true });
    const removed = () =>
      (
        database.prepare("select count(*) as count from events where type = 'worktree.removed'").get() as {
          count: number;
        }
      ).count;
    let asked = 0;
    const ours = async () => {
      const { runIds } = await squad.squad<{ runIds: string[] }>(
        'run',
        '-d',
        '--engine',
        'scripted',
        'coder',
        TASK,
      );
      await squad.squad('wait', ...runIds);
      const [row] = database
        .prepare("select data from events where type = 'tool.called' and run_id = ?")
        .all(runIds[0]!) as { data: string }[];
      const { ok, durationMs } = JSON.parse(row!.data) as { ok: boolean; durationMs: number };
      if (!ok) throw new Error(`request_review was refused: ${row!.data}`);
      // The reviewer's work tree must be removed before the next measurement.
      asked += 1;
      await until('its reviewer is cleared away', () => removed() >= asked);
      return durationMs;
    };
    const worktrees = createWorktrees({ folder: join(squad.root, 'worktrees') });
    const readyTree = async () => {
      const ask = {
        runId: newRunId(),
        name: 'coder',
        directory: squad.workspace,
        workspace: squad.workspace,
      };
      const { worktree } = await worktrees.plan(ask);
      await worktrees.ensure(worktree, null);
    };
    let count = 0;
    const byHand = async () => {
      const name = `by-hand-${++count}`;
      git(squad.workspace, 'worktree', 'add', '-q', '-b', name, join(squad.root, name));
    };
    try {
      const bare: number[] = [];
      const pair = await interleave(ours, async () => {
        bare.push(await timed(byHand));
        return timed(readyTree);
      });
      return [
        paired('as the hub sees it, against a work tree that is planned and ready', 'ms', pair, {
          target: `≤ floor + ${MAX_OVER_WORKTREE_MS} ms`,
          isMet: ({ over }) => over! <= MAX_OVER_WORKTREE_MS,
          note: 'uncommitted work committed, work tree made, reviewer written down',
        }),
        sampled('for comparison: git worktree add by hand', 'ms', bare, {
          note: 'slow here, because work trees of thousands of files have just been removed',
        }),
      ];
    } finally {
      database.close();
    }
  },
};
