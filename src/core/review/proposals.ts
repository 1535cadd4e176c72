import type { Clock } from '../../base/clock.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { SquadError } from '../../schema/error.ts';
import type { Intent } from '../../schema/intent.ts';
import type { Run } from '../../schema/run.ts';
import type { Forge, PullRequest } from '../ports/git-host.ts';
import type { RunFiles } from '../ports/run-files.ts';
import type { Store } from '../ports/store.ts';
import type { Branches } from '../ports/worktrees.ts';
import type { Runner } from '../runs/runner.ts';
import { type CreatedAs, createIssues, type NewIssue } from './create-issues.ts';
import { runNow } from './ports.ts';
import { type ProposalAsk, propose } from './propose.ts';
import { recoverProposal } from './recover-proposal.ts';
import type { ReviewLoop } from './review-loop.ts';

export interface ProposalPorts {
  clock: Clock;
  store: Store;
  files: Pick<RunFiles, 'variables' | 'environment'>;
  branches: Branches;
  forge: Forge;
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
  private readonly queue = new OneAtATime<Run['id']>();

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

export type ProposalIntent = Extract<Intent, { kind: 'create_pull_request' }>;

const isProposal = (intent: Intent): intent is ProposalIntent => intent.kind === 'create_pull_request';
