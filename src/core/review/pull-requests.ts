import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { FEEDBACK_FILE, type Intent, type Review } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import type { Worktree } from '../../schema/worktree.ts';
import type { CreatedIssue, ForgeRepository, GitHost, PullRequest } from '../ports/git-host.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { Branches } from '../ports/worktrees.ts';
import type { Runner } from '../runs/runner.ts';
import { gitHostAccess } from './git-host-access.ts';
import { retryWhileBranchMoves } from './give-feedback.ts';
import { eventOf, runNow } from './ports.ts';
import { pullRequestOpened } from './pull-request-opened.ts';
import type { ReviewLoop } from './review-loop.ts';
import { worktreeNeeded } from './reviewer-role.ts';

interface NewIssue {
  title: string;
  body: string;
  labels: string[];
}

type CreatedAs = CreatedIssue & { title: string };

/** One after the other, each written down when it is there: a list that is asked for again goes on where it stopped. */
async function createIssues(run: Run, issues: NewIssue[], ports: ProposalPorts): Promise<CreatedAs[]> {
  const { store, forge, clock } = ports;
  refuseTwins(issues);
  const access = await gitHostAccess([run.id], ports.files);
  const repository = await forge.repository(run.worktree?.repository ?? run.directory, access);
  const before = await createdBefore(run, store);
  const made: CreatedAs[] = [];
  for (const issue of issues) {
    const known = before.get(issue.title);
    if (known) made.push(known);
    else
      try {
        const created = { ...(await forge.createIssue(repository, issue, access)), title: issue.title };
        made.push(created);
        await store.commit({ events: [eventOf(clock, run, { type: 'issues.created', issues: [created] })] });
      } catch (thrown) {
        throw stopped(asSquadError(thrown), issues, made);
      }
  }
  return made;
}

/** More than a run can create. */
const ALL_EVENTS = 10_000;

async function createdBefore({ id }: Run, store: Store): Promise<Map<string, CreatedAs>> {
  const events = await store.events({ runId: id, types: ['issues.created'], limit: ALL_EVENTS });
  const issues = events.flatMap(({ body }) => (body.type === 'issues.created' ? body.issues : []));
  return new Map(issues.map(issue => [issue.title, issue]));
}

/** A title is how an issue is known again. */
function refuseTwins(issues: NewIssue[]): void {
  const twin = issues.find(({ title }, i) => issues.findIndex(each => each.title === title) < i);
  if (twin)
    throw new SquadError('INVALID_INPUT', `Two issues have the title "${twin.title}"`, {
      suggestions: ['Give each a title of its own. Nothing was created.'],
    });
}

function stopped(error: SquadError, issues: NewIssue[], made: CreatedAs[]): SquadError {
  const left = issues.slice(made.length).map(({ title }) => title);
  const there = made.map(({ number, title }) => `#${number} "${short(title)}"`).join(', ') || 'none';
  // A store that failed says so after the last issue was created.
  const message =
    left[0] === undefined ? error.message : `"${short(left[0])}" was not created: ${error.message}`;
  return new SquadError(error.code, `${message}. Of ${issues.length} issues these are there now: ${there}`, {
    cause: error,
    suggestions: [
      ...error.suggestions,
      ...(error.code === 'GITHUB_UNREACHABLE'
        ? ['Look on GitHub whether that one is there after all before you ask for it again.']
        : []),
      'Ask again with the same list: what this run has created is not created twice.',
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
  /** Null: the branch the work tree was forked from, or else the host's own choice. */
  baseBranch: string | null;
}

interface Proposal {
  asker: Run;
  of: Run;
  /** The one it ends. Nothing but what was reviewed is proposed then. */
  review: Review | null;
}

/**
 * Everything a run has done, as a pull request: its work committed, feedback files taken off, the branch pushed, the pull
 * request opened or found. What fails before the branch has left leaves it as it was.
 */
async function propose(
  { asker, of, review }: Proposal,
  ask: ProposalAsk,
  ports: ProposalPorts,
): Promise<PullRequest & { branch: string }> {
  const { clock, branches, forge, reviews, checkpoint } = ports;
  const tree = worktreeOf(of);
  const access = await gitHostAccess([asker.id, of.id], ports.files);
  const repository = await forge.repository(tree.repository, access);
  const base = ask.baseBranch ?? tree.baseBranch;
  // Nobody commits for somebody else: what is reviewed was committed when the review was asked for.
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
async function takeBack(
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

/** Clients wait while a hub starts. */
const RECOVERY_TIMEOUT_MS = 3_000;

/**
 * What an earlier hub was in the middle of. A pull request that is there is written down; a branch that was not pushed is put
 * back; where the host cannot be asked the branch stays, which costs nothing: whoever asked asks again and gets the same.
 */
async function recoverProposal(intent: ProposalIntent, ports: ProposalPorts): Promise<void> {
  try {
    const asker = await runNow(ports, intent.runId);
    const found = await askHost(intent, ports);
    if (asker && found.pull)
      await ports.reviews.openedPullRequest(asker, { ...found.pull, branch: intent.tree.branch }, [
        intent.id,
      ]);
    else await takeBack(intent, found.isThere, ports);
  } catch (thrown) {
    ports.warn(`What became of the pull request of ${intent.ofRunId} is not known`, thrown);
    await takeBack(intent, true, ports);
  }
}

async function askHost(
  { runId, ofRunId, tree, move }: ProposalIntent,
  { files, forge, branches }: ProposalPorts,
): Promise<{ isThere: boolean; pull: PullRequest | null }> {
  const access = { ...(await gitHostAccess([runId, ofRunId], files)), patienceMs: RECOVERY_TIMEOUT_MS };
  const repository = await forge.repository(tree.repository, access);
  const tip = await forge.remoteTip(tree, repository, access);
  const isThere = tip !== null && tip === (move?.to ?? (await branches.tip(tree)));
  return { isThere, pull: isThere ? await forge.findPullRequest(repository, tree.branch, access) : null };
}

interface ProposalPorts {
  clock: Clock;
  store: Store;
  files: Pick<RunFiles, 'variables' | 'environment'>;
  branches: Branches;
  forge: GitHost;
  runner: Pick<Runner, 'current'>;
  reviews: Pick<ReviewLoop, 'reviewBy' | 'endedBy' | 'openedPullRequest'>;
  /** Between any two steps. */
  checkpoint(name: string): void;
  /** Something that must not stop the hub went wrong. */
  warn(message: string, cause: unknown): void;
}

/** What leaves the machine: pull requests and issues. One at a time for a run, so that asking twice at once does nothing twice. */
export class Proposals {
  private readonly ports: ProposalPorts;
  private readonly queue = new KeyedQueue<Run['id']>();

  constructor(ports: ProposalPorts) {
    this.ports = ports;
  }

  /** For a reviewer, of the run it reviews. Throws REVIEW_OVER, REVIEW_OUTDATED, WORKTREE_NEEDED, and whatever git and GitHub refuse. */
  async open(asker: Run, ask: ProposalAsk): Promise<PullRequest & { branch: string }> {
    const { ports } = this;
    if (asker.type !== 'review')
      return this.queue.run(asker.id, () => propose({ asker, of: asker, review: null }, ask, ports));
    const of = await this.reviewedBy(asker);
    return this.queue.run(of.id, () =>
      ports.reviews.endedBy(asker, review => propose({ asker, of, review }, ask, ports)),
    );
  }

  /** Those that this run had created before are not created again. */
  createIssues(run: Run, issues: NewIssue[]): Promise<CreatedAs[]> {
    return this.queue.run(run.id, () => createIssues(run, issues, this.ports));
  }

  /** Before the loops are looked after: a pull request that is there has ended one. The runner has taken in all runs by now. */
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
    throw new SquadError(
      'RUN_UNKNOWN',
      `Run ${coderId}, which ${reviewer.id} reviews, is not there any more`,
    );
  }
}

type ProposalIntent = Extract<Intent, { kind: 'create_pull_request' }>;

const isProposal = (intent: Intent): intent is ProposalIntent => intent.kind === 'create_pull_request';
