import { onTestFinished } from 'vitest';
import type { BareRepository } from '../../../../test/servers/github/bare-repository.ts';
import { GitHubServer } from '../../../../test/servers/github/server.ts';
import { createGitHub } from '../../../github/git-host.ts';
import { FEEDBACK_FILE } from '../../../schema/review.ts';
import type { Run } from '../../../schema/run.ts';
import { openGit } from '../../../workspace/git/git.ts';
import { Proposals } from '../pull-requests.ts';
import { LoopFixture, NO_WORDS } from './loop-fixture.ts';

/** A review loop whose repository is on a Git host. */
export class ProposalFixture {
  readonly loop: LoopFixture;
  readonly github: GitHubServer;
  readonly host: BareRepository;
  /** Environment of the clients that started the runs. */
  env: Record<string, string>;
  kept: Record<string, string> = {};
  /** Environment of one run, instead of `env`. */
  readonly envOf = new Map<string, Record<string, string>>();
  proposals!: Proposals;

  private constructor(loop: LoopFixture, github: GitHubServer) {
    this.loop = loop;
    this.github = github;
    this.host = github.addRepository('octo', 'demo');
    this.env = {
      PATH: process.env.PATH ?? '',
      GITHUB_TOKEN: github.token,
      GITHUB_API_URL: github.apiUrl,
    };
    loop.repository.git('push', '-q', this.host.folder, 'main');
    loop.repository.git('remote', 'add', 'origin', this.host.httpUrl);
    this.start();
  }

  static async open(): Promise<ProposalFixture> {
    const github = await GitHubServer.start();
    onTestFinished(() => github[Symbol.asyncDispose]());
    return new ProposalFixture(await LoopFixture.open(), github);
  }

  private start(): void {
    const { ports } = this.loop;
    this.proposals = new Proposals({
      ...ports,
      files: { variables: async () => this.kept, environment: async id => this.envOf.get(id) ?? this.env },
      gitHost: createGitHub({ openGit, env: this.env }),
      reviews: this.loop.loop,
    });
  }

  /** Starts the next hub, up to the moment when clients can connect. */
  async startAgain(): Promise<void> {
    await this.loop.startAgain(async () => {
      this.start();
      await this.proposals.recover();
    });
  }

  ask = (run: Run, change: object = {}) =>
    this.proposals.open(run, { title: 'Add a parser', description: 'Why', baseBranch: null, ...change });

  /** Adds a coder that has had one review round, so that its branch contains the feedback file. */
  async codedWithFeedback(): Promise<Run> {
    const coder = await this.loop.coder();
    this.loop.write(coder, FEEDBACK_FILE, 'Fix it.\n');
    this.loop.inTree(coder, 'add', '-A');
    this.loop.inTree(coder, 'commit', '-qm', 'Work and feedback');
    return coder;
  }

  async underReview(): Promise<{ coder: Run; reviewer: Run }> {
    const coder = await this.loop.coder();
    const { reviewer } = await this.loop.loop.request(coder, NO_WORDS);
    return { coder, reviewer: this.loop.runner.current(reviewer.id)! };
  }

  tip = (run: Run): string => this.loop.inTree(run, 'rev-parse', run.worktree!.branch);
  remoteTip = (run: Run): string | null => this.host.tip(run.worktree!.branch);
  hasFeedbackFile = (run: Run): boolean => this.loop.inTree(run, 'ls-files').includes(FEEDBACK_FILE);

  async opened(run: Run) {
    const events = await this.loop.store.events({ runId: run.id, types: ['pull_request.opened'], limit: 10 });
    return events.map(({ body }) => body);
  }
}
