import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { BareRepository } from '../../servers/github/bare-repository.ts';
import { GitHubServer } from '../../servers/github/server.ts';
import { GitSquad, script, scriptOf } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

let github: GitHubServer;
let host: BareRepository;
let squad: GitSquad;

beforeAll(async () => {
  github = await GitHubServer.start();
  host = github.addRepository('octo', 'demo');
  squad = new GitSquad(
    {
      coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
      reviewer: '---\ntype: review\n---\nYou review.',
      planner: '---\ntype: planning\nisolation: worktree\n---\nYou plan.',
      lead: '---\ntype: coding\nisolation: worktree\nspawn: true\n---\nYou lead.',
      helper: 'You help.',
      keeper: '---\nenv: [GITHUB_TOKEN]\n---\nYou keep.',
      loose: '---\ntype: coding\n---\nYou code in the open.',
    },
    { GITHUB_TOKEN: github.token, GITHUB_API_URL: github.apiUrl },
  );
  squad.git('push', '-q', host.folder, 'main');
  squad.git('remote', 'add', 'origin', host.httpUrl);
  await squad.unlimited();
  await squad.json(['config', 'set', 'stop.grace_ms', '200']);
});
beforeEach(() => {
  github.pulls = [];
  github.issues = [];
});
afterAll(async () => {
  await squad[Symbol.asyncDispose]();
  await github[Symbol.asyncDispose]();
});

interface Shown {
  run: { status: string; turn: number; worktree: { branch: string } };
  result: { result: string };
}

async function ran(
  role: string,
  task: string,
  env: Record<string, string> = {},
): Promise<Shown & { id: string }> {
  const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', role, task], { env });
  await squad.run(['wait', runIds[0]]);
  return { id: runIds[0], ...(await squad.json<Shown>(['show', runIds[0]])) };
}

const open = (more: object = {}) =>
  `call create_pull_request ${JSON.stringify({ title: 'Add a feature', description: 'Because.', ...more })}`;
const refusal = ({ result }: Shown) => JSON.parse(/refused: (.*)/.exec(result.result)![1]!);

describe('an agent on GitHub', () => {
  test('opens a pull request with all its work, without ever having the token', {
    tags: ['D4'],
  }, async () => {
    const shown = await ran('coder', `Build it.${script('write a.txt', '| a', 'run env', open())}`);
    const { branch } = shown.run.worktree;
    expect(shown.result.result).toContain(`"branch_name":"${branch}"`);
    expect(shown.result.result).toContain(`"pr_url":"${github.origin}/octo/demo/pull/1"`);
    expect(shown.result.result).not.toContain(github.token);
    expect(github.pulls).toMatchObject([
      { head: branch, base: 'main', title: 'Add a feature', body: 'Because.' },
    ]);
    expect(host.files(branch)).toEqual(['README.md', 'a.txt']);
  });

  test('as a reviewer opens one for the run it reviews after two rounds, and that is the end of the loop', {
    tags: ['D4'],
  }, async () => {
    const ask = (...lines: string[]) =>
      `call request_review ${JSON.stringify({ reviewer_prompt: `Look.\n${script(...lines)}` })}`;
    const needsWork = 'call send_feedback {"feedback":"More.","feedback_type":"needs_work"}';
    const shown = await ran(
      'coder',
      `Build it.${script('write b.txt', '| one', ask(needsWork))}${scriptOf(2, 'append b.txt', '| two', ask(needsWork))}${scriptOf(3, 'append b.txt', '| three', ask(open()))}`,
    );
    expect(shown.run).toMatchObject({ status: 'completed', turn: 3 });
    const { branch } = shown.run.worktree;
    expect(github.pulls).toMatchObject([{ head: branch }]);
    expect(host.git('show', `${branch}:b.txt`)).toBe('one\ntwo\nthree\n');
    expect(host.files(branch)).toEqual(['README.md', 'b.txt']);
    const { reviews } = await squad.json<{ reviews: { outcome: string; reviewerId: string }[] }>([
      'review',
      shown.id,
    ]);
    expect(reviews.map(({ outcome }) => outcome)).toEqual(['needs_work', 'needs_work', 'pull_request']);
    await until('the last reviewer has ended', async () => {
      const { run } = await squad.json<Shown>(['show', reviews.at(-1)!.reviewerId]);
      return run.status === 'terminated';
    });
  });

  test('as a planner creates issues, and opens a pull request for its documents', {
    tags: ['D4'],
  }, async () => {
    const issues = {
      issues: [
        { title: 'One', body: 'First' },
        { title: 'Two', body: 'Second', labels: ['plan'] },
      ],
    };
    const shown = await ran(
      'planner',
      `Plan it.${script(`call create_issues ${JSON.stringify(issues)}`, 'write plan.md', '| 1. One', open())}`,
    );
    expect(shown.result.result).toContain(`"issue_url":"${github.origin}/octo/demo/issues/2"`);
    expect(github.issues).toMatchObject([
      { title: 'One', labels: [] },
      { title: 'Two', labels: ['plan'] },
    ]);
    expect(github.pulls).toHaveLength(1);
  });

  test('gets an error in one level, with what is wrong and what to do', { tags: ['D4'] }, async () => {
    const shown = await ran('coder', `Build it.${script('write a.txt', '| a', open())}`, {
      GITHUB_TOKEN: 'ghp_an_old_one',
    });
    expect(refusal(shown)).toMatchObject({
      error: 'PUSH_REJECTED',
      code: 'PUSH_REJECTED',
      tool_name: 'create_pull_request',
      instance_id: shown.id,
      suggestions: [expect.stringContaining('token')],
    });
    expect(shown.result.result).not.toContain('ghp_an_old_one');
  });

  test('has the token neither itself nor by those it starts, unless their role names it', async () => {
    writeFileSync(join(squad.home, 'env'), 'GITHUB_TOKEN="ghp_saved"\n', { mode: 0o600 });
    const echo = (name: string) => `echo ${name}=\${GITHUB_TOKEN:-none}`;
    const told = (name: string, more: object = {}) =>
      `call spawn_agent ${JSON.stringify({ include_context: false, prompt: script(`run ${echo(name)}`), ...more })}`;
    for (const env of [{ GITHUB_TOKEN: github.token }, { GITHUB_TOKEN: '' }]) {
      const shown = await ran(
        'lead',
        `Lead.${script(`run ${echo('own')}`, told('bare'), told('helper', { roleId: 'helper' }), told('keeper', { roleId: 'keeper' }))}`,
        env,
      );
      const seen = new Set(
        [...shown.result.result.matchAll(/(own|bare|helper|keeper)=\w+/g)].map(([found]) => found),
      );
      expect(seen).toEqual(new Set(['own=none', 'bare=none', 'helper=none', 'keeper=ghp_saved']));
    }
    rmSync(join(squad.home, 'env'));
  });

  test.each([
    ['coder', [open()], 'NOTHING_TO_PROPOSE'],
    ['loose', ['write c.txt', '| c', open()], 'WORKTREE_NEEDED'],
    ['coder', [open({ title: '' })], 'INVALID_INPUT'],
    ['coder', [open({ title: 'x'.repeat(257) })], 'INVALID_INPUT'],
    ['planner', ['call create_issues {"issues":[]}'], 'INVALID_INPUT'],
    ['coder', ['call create_issues {"issues":[{"title":"a","body":"b"}]}'], 'Unknown tool'],
  ])('(%s) with %j is refused: %s', async (role, lines, code) => {
    const shown = await ran(role, `Do it.${script(...lines)}`);
    expect(shown.result.result).toContain(code);
    expect([...github.pulls, ...github.issues]).toEqual([]);
  });
});
