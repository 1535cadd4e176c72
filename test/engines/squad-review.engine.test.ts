/** A review loop of real CLIs: one codes and one reviews, each in a work tree of its own, until there is a pull request. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Worktree } from '../../src/schema/worktree.ts';
import type { BareRepository } from '../servers/github/bare-repository.ts';
import { GitHubServer } from '../servers/github/server.ts';
import { makeRepository, userGit } from '../support/git-squad.ts';
import { until } from '../support/squad.ts';
import { chosenClis } from './chosen-clis.ts';
import { EngineSquad } from './engine-squad.ts';
import type { Turn } from './model-server/conversation.ts';
import { mock } from './model-server/script.ts';
import { trustProject } from './trusted-project.ts';

/** Four turns of CLIs that take seconds to start. */
const LOOP_MS = 150_000;

const REVIEW_TOOLS = ['request_review', 'send_feedback', 'create_pull_request', 'create_issues'];

interface Shown {
  run: { status: string; turn: number; chatId: string; worktree: Worktree };
}
interface Reviews {
  reviews: { reviewerId: string; iteration: number; outcome: string }[];
}

describe.each(chosenClis())('%s', name => {
  let it: EngineSquad;
  let github: GitHubServer;
  let host: BareRepository;
  let projectFiles: string[];
  beforeAll(async () => {
    github = await GitHubServer.start();
    host = github.addRepository('octo', 'demo');
    it = await EngineSquad.start([name], {
      inHome: true,
      roles: {
        coder: `---\ntype: coding\nisolation: worktree\nengine: ${name}\n---\nYou code.\n`,
        reviewer: `---\ntype: review\nengine: ${name}\n---\nYou review.\n`,
      },
      prepare: async (squad, home) => {
        makeRepository(squad);
        projectFiles = trustProject(name, home, squad.workspace);
        userGit(squad.workspace, squad.env, 'add', '-A');
        userGit(squad.workspace, squad.env, 'commit', '-qm', 'Settings', '--allow-empty');
        // Not for each command: Gemini CLI holds `git -c` to be dangerous and refuses it.
        userGit(squad.workspace, squad.env, 'config', 'user.name', 'User');
        userGit(squad.workspace, squad.env, 'config', 'user.email', 'user@example.com');
        userGit(squad.workspace, squad.env, 'push', '-q', host.folder, 'main');
        userGit(squad.workspace, squad.env, 'remote', 'add', 'origin', host.httpUrl);
        Object.assign(squad.env, { GITHUB_TOKEN: github.token, GITHUB_API_URL: github.apiUrl });
      },
    });
  });
  afterAll(async () => {
    await it[Symbol.asyncDispose]();
    await github[Symbol.asyncDispose]();
  });

  const git = (...args: string[]) => userGit(it.squad.workspace, it.squad.env, ...args);
  const shown = async (id: string) => (await it.squad.json<Shown>(['show', id])).run;
  const reviewsOf = async (id: string) => (await it.squad.json<Reviews>(['review', id])).reviews;
  /** The first request of a part, with the whole conversation so far. */
  const asked = (tag: string) => it.server.first(tag)!;
  const saidBy = (who: Turn['by'], tag: string) =>
    asked(tag)
      .turns.filter(({ by }) => by === who)
      .map(({ text }) => text);
  const seenBy = (tag: string) =>
    it.server.requests
      .findLast(call => call.tag === tag)!
      .toolResults.join('\n')
      // Some CLIs pass on the result as JSON.
      .replaceAll('\\n', '\n');
  const reviewToolsOf = (tag: string) =>
    REVIEW_TOOLS.filter(tool => asked(tag).tools.some(offered => offered.endsWith(tool)));

  test('codes, is reviewed, goes on in its chat and ends with a pull request by its reviewer', {
    tags: ['D2'],
    timeout: 2 * LOOP_MS,
  }, async () => {
    // Each script is in the prompt of the one before, so they are written from the last to the first.
    const looks = 'git log main..HEAD && git diff --no-ext-diff main...HEAD';
    const pullRequest = { title: 'Add a feature', description: 'Because.' };
    const proposes = [{ shell: looks }, { call: 'create_pull_request', arguments: pullRequest }];
    const fixes = [
      { shell: 'echo two >> feature.txt' },
      { call: 'request_review', arguments: { reviewer_prompt: mock(proposes, 'review-2') } },
      { text: 'Asked again.' },
    ];
    const feedback = { feedback: `Say two. ${mock(fixes, 'code-2')}`, feedback_type: 'needs_work' };
    const objects = [{ shell: looks }, { call: 'send_feedback', arguments: feedback }];
    const builds = [
      { write: { path: 'feature.txt', content: 'one\n' } },
      { shell: 'git add -A && git commit -qm Mine' },
      { call: 'request_review', arguments: { reviewer_prompt: mock(objects, 'review-1') } },
      { text: 'Asked for it.' },
    ];
    const { spawn_id } = await it.begin(name, `Build it. ${mock(builds, 'code-1')}`, { roleId: 'coder' });
    const { error, ...result } = await it.end(spawn_id, LOOP_MS);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ status: 'completed', success: true });

    const run = await shown(spawn_id);
    expect(run).toMatchObject({ status: 'completed', turn: 2 });
    const reviews = await reviewsOf(spawn_id);
    expect(reviews.map(({ outcome }) => outcome)).toEqual(['needs_work', 'pull_request']);

    // Its second turn has the first one before it, and then what the reviewer said.
    expect(saidBy('model', 'code-2').join('\n')).toContain('Asked for it.');
    expect(saidBy('user', 'code-2').join('\n')).toMatch(/^Build it\..*^> Say two\./ms);
    expect(saidBy('model', 'review-2')).toEqual([]);
    // Each reviewer has read what was there when it was asked.
    expect(seenBy('review-1')).toMatch(/^\+one\s*$/m);
    expect(seenBy('review-2')).toMatch(/^\+one\s+\+two\s*$/m);

    const { branch } = run.worktree;
    expect(git('log', '--format=%s', `main..${branch}`).split('\n')).toContain('Mine');
    expect(github.pulls).toMatchObject([{ head: branch, base: 'main', title: 'Add a feature' }]);
    expect(host.git('show', `${branch}:feature.txt`)).toBe('one\ntwo\n');
    expect(host.files(branch)).toEqual([...projectFiles, 'README.md', 'feature.txt']);

    for (const part of ['code-1', 'code-2'])
      expect(reviewToolsOf(part)).toEqual(['request_review', 'create_pull_request']);
    for (const part of ['review-1', 'review-2'])
      expect(reviewToolsOf(part)).toEqual(['send_feedback', 'create_pull_request']);

    for (const { reviewerId } of reviews) {
      const reviewer = await until('the reviewer is terminated', async () => {
        const now = await shown(reviewerId);
        return now.status === 'terminated' && now;
      });
      expect(reviewer.chatId).not.toBe(run.chatId);
      await until('its work tree is gone', () => !existsSync(reviewer.worktree.path));
    }
    await until(
      'their branches are gone',
      () => git('branch', '--list', 'squad/*', '--format=%(refname:short)') === branch,
    );
    expect(git('status', '--porcelain')).toBe('');
    await it.nothingLeft();
  });
});
