import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import type { RunId } from '../../schema/ids.ts';
import { FEEDBACK_FILE, type Intent, type Review } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type {
  CreatedIssue,
  GitHost,
  GitHostAccess,
  HostedRepository,
  PullRequest,
} from '../ports/git-host.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { Branches } from '../ports/worktrees.ts';
import type { Runner } from '../runs/runner.ts';
import { retryWhileBranchMoves } from './give-feedback.ts';
import { eventOf, runNow } from './ports.ts';
import type { ReviewLoop } from './review-loop.ts';
import { worktreeNeeded } from './reviewer-role.ts';
import { pullRequestOpened } from './rounds.ts';

/**
 * The GitHub token and API address from the environment of a run's client; the agent itself need not have them. The hub starts
 * reviewers, so the environment of the reviewed run counts too. Throws GITHUB_TOKEN_MISSING.
 */
async function gitHostAccess(
  runIds: readonly [RunId, ...RunId[]],
  files: Pick<RunFiles, 'variables' | 'environment'>,
): Promise<GitHostAccess> {
  const [env, ...others] = await Promise.all(runIds.map(id => files.environment(id)));
  const kept = await Promise.all(runIds.map(id => files.variables(id)));
  const found = (name: string) =>
    [...kept, env, ...others].map(each => each?.[name]?.trim()).find(value => value);
  const token = found('GITHUB_TOKEN') ?? found('GH_TOKEN');
  if (token === undefined)
    throw missing(
      `Run ${runIds[0]} has no token for GitHub: neither GITHUB_TOKEN nor GH_TOKEN is set for its client`,
    );
  // The token is checked because it becomes part of an HTTP header.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw missing('The token in GITHUB_TOKEN has characters that no token can have');
  return { token, apiUrl: found('GITHUB_API_URL') ?? null, env: env ?? {} };
}

const missing = (message: string): SquadError =>
  new SquadError('GITHUB_TOKEN_MISSING', message, {
    suggestions: [
      'The user sets GITHUB_TOKEN where the client or the terminal gets its environment, for example `GITHUB_TOKEN=$(gh auth token)`, and starts the run again. An agent cannot do that.',
    ],
  });

type NewIssue = Parameters<GitHost['createIssue']>[1];

type CreatedAs = CreatedIssue & { title: string };

/** Creates issues one at a time and records each at once: a repeated call continues where the first one stopped. */
async function createIssues(run: Run, issues: NewIssue[], ports: ProposalPorts): Promise<CreatedAs[]> {
  const { store, gitHost, clock } = ports;
  refuseDuplicates(issues);
  const access = await gitHostAccess([run.id], ports.files);
  const repository = await gitHost.repository(run.worktree?.repository ?? run.directory, access);
  const before = await createdBefore(run, store);
  const made: CreatedAs[] = [];
  for (const issue of issues) {
    const known = before.get(issue.title);
    if (known) made.push(known);
    else
      try {
        const created = { ...(await gitHost.createIssue(repository, issue, access)), title: issue.title };
        made.push(created);
        await store.commit({ events: [eventOf(clock, run, { type: 'issues.created', issues: [created] })] });
      } catch (thrown) {
        throw stopped(asSquadError(thrown), issues, made);
      }
  }
  return made;
}

/** Maximum number of events to read. No run creates so many issues. */
const ALL_EVENTS = 10_000;

async function createdBefore({ id }: Run, store: Store): Promise<Map<string, CreatedAs>> {
  const events = await store.events({ runId: id, types: ['issues.created'], limit: ALL_EVENTS });
  const issues = events.flatMap(({ body }) => (body.type === 'issues.created' ? body.issues : []));
  return new Map(issues.map(issue => [issue.title, issue]));
}

/** Issues are recognized by their titles, so titles must differ. */
function refuseDuplicates(issues: NewIssue[]): void {
  const duplicate = issues.find(({ title }, i) => issues.findIndex(each => each.title === title) < i);
  if (duplicate)
    throw new SquadError('INVALID_INPUT', `Two issues have the title "${duplicate.title}"`, {
      suggestions: ['Give each issue a different title. Nothing was created.'],
    });
}

function stopped(error: SquadError, issues: NewIssue[], made: CreatedAs[]): SquadError {
  const left = issues.slice(made.length).map(({ title }) => title);
  const there = made.map(({ number, title }) => `#${number} "${short(title)}"`).join(', ') || 'none';
  // If all issues were created, the error came from the store, after the last issue.
  const message =
    left[0] === undefined ? error.message : `"${short(left[0])}" was not created: ${error.message}`;
  return new SquadError(error.code, `${message}. Created so far, of ${issues.length} issues: ${there}`, {
    cause: error,
    suggestions: [
      ...error.suggestions,
      ...(error.code === 'GITHUB_UNREACHABLE'
        ? ['Check on GitHub whether that issue was created before you ask for it again.']
        : []),
      'Retry with the same list: issues that this run has created are not created twice.',
    ],
    details: {
      ...error.details,
      created: made.map(({ number, url, title }) => ({ issue_number: number, issue_url: url, title })),
      not_created: left,
    },
  });
}

const short = (title: string): string =>
  title.length > 60 ? `${title.slice(0, 59).toWellFormed()}…` : title;

interface ProposalAsk {
  title: string;
  description: string;
  /**
   * Base branch of the pull request. Null means the branch that the work tree was forked from, or else the host's
   * default branch.
   */
  baseBranch: string | null;
}

interface Proposal {
  asker: Run;
  of: Run;
  /** The review that the pull request ends, if any. With a review, only reviewed work is proposed. */
  review: Review | null;
}

/**
 * Opens a pull request with all work of a run: commits it, removes the feedback file, pushes the branch, and opens or
 * finds the pull request. A failure before the push leaves the branch unchanged.
 */
async function propose(
  { asker, of, review }: Proposal,
  ask: ProposalAsk,
  ports: ProposalPorts,
): Promise<PullRequest & { branch: string }> {
  const { clock, branches, gitHost, reviews, checkpoint } = ports;
  const tree = worktreeOf(of);
  const access = await gitHostAccess([asker.id, of.id], ports.files);
  const repository = await gitHost.repository(tree.repository, access);
  const base = ask.baseBranch ?? tree.baseBranch;
  // Reviewed work was already committed when the review was requested.
  if (!review)
    await retryWhileBranchMoves(async () => {
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
    await retryWhileBranchMoves(async () => {
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
    await gitHost.push(tree, commit, repository, access).catch(thrown => {
      mayHaveArrived = asSquadError(thrown).code === 'GITHUB_UNREACHABLE';
      throw thrown;
    });
    mayHaveArrived = true;
    checkpoint('create_pull_request:3');
    const { title, description: body } = ask;
    const pull = {
      ...(await gitHost.openPullRequest(repository, { head: tree.branch, base, title, body }, access)),
      branch: tree.branch,
    };
    checkpoint('create_pull_request:4');
    if (review) await pullRequestOpened(asker, pull, [intent.id], ports);
    else await reviews.openedPullRequest(asker, pull, [intent.id]);
    return pull;
  } catch (thrown) {
    if (isWritten)
      await undo(intent, mayHaveArrived, ports).catch(again =>
        ports.warn(`The pull request of ${of.id} is finished or undone at the next start`, again),
      );
    throw thrown;
  }
}

/** Restores the branch, unless the host may already have it: two histories would be worse than a missing file. */
async function undo(
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
  { gitHost }: ProposalPorts,
): Promise<void> {
  if (await gitHost.changesOnly(tree, { from: reviewed, to: commit }, FEEDBACK_FILE)) return;
  throw new SquadError(
    'REVIEW_OUTDATED',
    `Run ${coderId} has committed to ${tree.branch} after it asked for this review, so the commits after ${reviewed.slice(0, 12)} are not reviewed`,
    {
      suggestions: [
        'End the review with `send_feedback` instead: the coder can ask for another review. Nothing was pushed or opened.',
      ],
    },
  );
}

async function refuseEmpty(
  tree: Worktree,
  commit: string,
  base: string | null,
  repository: HostedRepository,
  { gitHost }: ProposalPorts,
): Promise<void> {
  if (await gitHost.changesAnything(tree, commit, base === null ? null : { branch: base, repository }))
    return;
  throw new SquadError(
    'NOTHING_TO_PROPOSE',
    `${tree.branch} has no changes compared to ${base ?? 'its starting commit'}`,
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

/** Timeout for requests to the Git host during the recovery. It is short, because clients wait while a hub starts. */
const RECOVERY_TIMEOUT_MS = 3_000;

/**
 * Finishes or undoes interrupted work of an earlier hub: records a pull request that exists, or restores a branch that
 * was not pushed. If the host cannot be reached, the branch stays; a repeated call then gives the same result.
 */
async function recoverProposal(intent: ProposalIntent, ports: ProposalPorts): Promise<void> {
  try {
    const asker = await runNow(ports, intent.runId);
    const found = await askHost(intent, ports);
    if (asker && found.pull)
      await ports.reviews.openedPullRequest(asker, { ...found.pull, branch: intent.tree.branch }, [
        intent.id,
      ]);
    else await undo(intent, found.isThere, ports);
  } catch (thrown) {
    ports.warn(`The state of the pull request of ${intent.ofRunId} is unknown`, thrown);
    await undo(intent, true, ports);
  }
}

async function askHost(
  { runId, ofRunId, tree, move }: ProposalIntent,
  { files, gitHost, branches }: ProposalPorts,
): Promise<{ isThere: boolean; pull: PullRequest | null }> {
  const access = { ...(await gitHostAccess([runId, ofRunId], files)), timeoutMs: RECOVERY_TIMEOUT_MS };
  const repository = await gitHost.repository(tree.repository, access);
  const tip = await gitHost.remoteTip(tree, repository, access);
  const isThere = tip !== null && tip === (move?.to ?? (await branches.tip(tree)));
  return { isThere, pull: isThere ? await gitHost.findPullRequest(repository, tree.branch, access) : null };
}

interface ProposalPorts {
  clock: Clock;
  store: Store;
  files: Pick<RunFiles, 'variables' | 'environment'>;
  branches: Branches;
  gitHost: GitHost;
  runner: Pick<Runner, 'current'>;
  reviews: Pick<ReviewLoop, 'reviewBy' | 'endedBy' | 'openedPullRequest'>;
  /** Called between any two steps, for tests that end the hub there. */
  checkpoint(name: string): void;
  /** Logs an error that must not stop the hub. */
  warn(message: string, cause: unknown): void;
}

/** Pull requests and issues. One call at a time for each run, so that two concurrent calls create nothing twice. */
export class Proposals {
  private readonly ports: ProposalPorts;
  private readonly queue = new KeyedQueue<Run['id']>();

  constructor(ports: ProposalPorts) {
    this.ports = ports;
  }

  /**
   * Opens a pull request. For a reviewer it is the pull request of the run it reviews. Throws REVIEW_OVER,
   * REVIEW_OUTDATED, WORKTREE_NEEDED, and errors of git and GitHub.
   */
  async open(asker: Run, ask: ProposalAsk): Promise<PullRequest & { branch: string }> {
    const { ports } = this;
    if (asker.type !== 'review')
      return this.queue.run(asker.id, () => propose({ asker, of: asker, review: null }, ask, ports));
    const of = await this.reviewedBy(asker);
    return this.queue.run(of.id, () =>
      ports.reviews.endedBy(asker, review => propose({ asker, of, review }, ask, ports)),
    );
  }

  /** Creates issues. Issues that this run has already created are not created again. */
  createIssues(run: Run, issues: NewIssue[]): Promise<CreatedAs[]> {
    return this.queue.run(run.id, () => createIssues(run, issues, this.ports));
  }

  /**
   * Must be called before the recovery of review loops, because an open pull request ends a review loop. The runner
   * must already know all runs.
   */
  async recover(): Promise<void> {
    const found = (await this.ports.store.intents()).filter(isProposal);
    await Promise.all(
      found.map(intent => this.queue.run(intent.ofRunId, () => recoverProposal(intent, this.ports))),
    );
  }

  private async reviewedBy(reviewer: Run): Promise<Run> {
    const { coderId } = await this.ports.reviews.reviewBy(reviewer);
    const coder = await runNow(this.ports, coderId);
    if (coder) return coder;
    throw new SquadError('RUN_UNKNOWN', `Run ${coderId}, which ${reviewer.id} reviews, was removed`, {
      suggestions: ['There is nothing left for you to do: end your turn.'],
    });
  }
}

type ProposalIntent = Extract<Intent, { kind: 'create_pull_request' }>;

const isProposal = (intent: Intent): intent is ProposalIntent => intent.kind === 'create_pull_request';
