import { randomUUID } from 'node:crypto';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { FEEDBACK_FILE, type Review } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { ForgeRepository, PullRequest } from '../ports/git-host.ts';
import { whileMoving } from './branch-tries.ts';
import { forgeAccess } from './git-host-access.ts';
import type { ProposalIntent, ProposalPorts } from './proposals.ts';
import { pullRequestOpened } from './pull-request-opened.ts';
import { worktreeNeeded } from './worktree-needed.ts';

export interface ProposalAsk {
  title: string;
  description: string;
  /** Null: the branch the work tree was forked from, or else the host's own choice. */
  baseBranch: string | null;
}

export interface Proposal {
  asker: Run;
  of: Run;
  /** The one it ends. Nothing but what was reviewed is proposed then. */
  review: Review | null;
}

/**
 * Everything a run has done, as a pull request: its work committed, feedback files taken off, the branch pushed, the pull
 * request opened or found. What fails before the branch has left leaves it as it was.
 */
export async function propose(
  { asker, of, review }: Proposal,
  ask: ProposalAsk,
  ports: ProposalPorts,
): Promise<PullRequest & { branch: string }> {
  const { clock, branches, forge, reviews, checkpoint } = ports;
  const tree = worktreeOf(of);
  const access = await forgeAccess([asker.id, of.id], ports.files);
  const repository = await forge.repository(tree.repository, access);
  const base = ask.baseBranch ?? tree.baseBranch;
  // Nobody commits for somebody else: what is reviewed was committed when the review was asked for.
  if (!review)
    await whileMoving(async () => {
      const work = await branches.prepareAll(tree, ask.title);
      if (work) await branches.apply(tree, work);
    });
  const intent: ProposalIntent = {
    ...{ id: randomUUID(), kind: 'create_pull_request', at: clock.now() },
    ...{ runId: asker.id, ofRunId: of.id, tree, move: null },
  };
  let commit = '';
  let isWritten = false;
  let mayHaveArrived = false;
  try {
    await whileMoving(async () => {
      intent.move = await branches.prepareFile(
        tree,
        { path: FEEDBACK_FILE, text: null },
        `Remove ${FEEDBACK_FILE}`,
      );
      commit = intent.move?.to ?? (await branches.tip(tree));
      if (review) await refuseUnreviewed(tree, commit, review, ports);
      await refuseEmpty(tree, commit, base, repository, ports);
      await ports.store.commit({ intents: [{ ...intent }], events: [] });
      isWritten = true;
      checkpoint('create_pull_request:1');
      if (intent.move) await branches.apply(tree, intent.move, FEEDBACK_FILE);
    });
    checkpoint('create_pull_request:2');
    await forge.push(tree, commit, repository, access).catch(thrown => {
      mayHaveArrived = asSquadError(thrown).code === 'GITHUB_UNREACHABLE';
      throw thrown;
    });
    mayHaveArrived = true;
    checkpoint('create_pull_request:3');
    const { title, description: body } = ask;
    const pull = {
      ...(await forge.openPullRequest(repository, { head: tree.branch, base, title, body }, access)),
      branch: tree.branch,
    };
    checkpoint('create_pull_request:4');
    if (review) await pullRequestOpened(asker, pull, [intent.id], ports);
    else await reviews.openedPullRequest(asker, pull, [intent.id]);
    return pull;
  } catch (thrown) {
    if (isWritten)
      await takeBack(intent, mayHaveArrived, ports).catch(again =>
        ports.warn(`The pull request of ${of.id} is put in order at the next start`, again),
      );
    throw thrown;
  }
}

/** The branch as it was, unless the host may have it as it is: two histories would be worse than a file that is missing. */
export async function takeBack(
  { id, tree, move }: ProposalIntent,
  mayHaveArrived: boolean,
  { branches, store }: ProposalPorts,
): Promise<void> {
  if (move && !mayHaveArrived) await branches.undo(tree, move, FEEDBACK_FILE);
  await store.commit({ intentsDone: [id], events: [] });
}

async function refuseUnreviewed(
  tree: Worktree,
  commit: string,
  { coderId, commit: reviewed }: Review,
  { forge }: ProposalPorts,
): Promise<void> {
  if (await forge.changesOnly(tree, { from: reviewed, to: commit }, FEEDBACK_FILE)) return;
  throw new SquadError(
    'REVIEW_OUTDATED',
    `Run ${coderId} has committed to ${tree.branch} after it asked for this review of commit ${reviewed.slice(0, 12)}: what is there now nobody has reviewed`,
    {
      suggestions: [
        'End the review with `send_feedback` instead: the coder can ask for another. Nothing was pushed or opened.',
      ],
    },
  );
}

async function refuseEmpty(
  tree: Worktree,
  commit: string,
  base: string | null,
  repository: ForgeRepository,
  { forge }: ProposalPorts,
): Promise<void> {
  if (await forge.brings(tree, commit, base === null ? null : { branch: base, repository })) return;
  throw new SquadError(
    'NOTHING_TO_PROPOSE',
    `${tree.branch} changes nothing of ${base ?? 'what it began with'}`,
    {
      suggestions: ['Do the work first. Nothing was pushed or opened.'],
    },
  );
}

function worktreeOf({ id, worktree }: Run): Worktree {
  if (worktree) return worktree;
  throw worktreeNeeded(
    `Run ${id} works in the caller's folder and has no branch of its own to open a pull request from`,
  );
}
