import { describe, expect, test } from 'vitest';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import type { Run } from '../../schema/run.ts';
import { FEEDBACK } from './testing/loop-fixture.ts';
import { ProposalFixture } from './testing/proposal-fixture.ts';

const STEPS = [1, 2, 3, 4, 5].map(step => `create_pull_request:${step}`);

describe('a pull request', () => {
  test("of a coder's has all its work, committed or not, and no feedback file", async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.codedWithFeedback();
    fixture.loop.write(coder, 'src/more.ts', 'export {};\n');
    const { branch } = coder.worktree!;
    expect(await fixture.ask(coder)).toEqual({
      number: 1,
      url: `${fixture.github.origin}/octo/demo/pull/1`,
      branch,
      existed: false,
    });
    expect(fixture.github.pulls).toMatchObject([
      { title: 'Add a parser', body: 'Why', head: branch, base: 'main' },
    ]);
    expect(fixture.host.files(branch)).toEqual(['README.md', 'src/more.ts', 'src/parse.ts']);
    expect(fixture.remoteTip(coder)).toBe(fixture.tip(coder));
    expect(fixture.loop.inTree(coder, 'status', '--porcelain')).toBe('');
    expect(await fixture.opened(coder)).toMatchObject([{ number: 1, branch, existed: false }]);
    expect(await fixture.loop.store.intents()).toEqual([]);
  });

  test('is for the branch that is asked for', async () => {
    const fixture = await ProposalFixture.open();
    fixture.host.git('branch', 'next', 'main');
    await fixture.ask(await fixture.loop.coder(), { baseBranch: 'next' });
    expect(fixture.github.pulls[0]?.base).toBe('next');
  });

  test('asked for again brings what is new, and is the same one', { tags: ['D4'] }, async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.loop.coder();
    await fixture.ask(coder);
    fixture.loop.write(coder, 'src/more.ts', 'export {};\n');
    expect(await fixture.ask(coder)).toMatchObject({ number: 1, existed: true });
    expect(fixture.host.files(coder.worktree!.branch)).toContain('src/more.ts');
  });

  test('asked for twice at once is opened once', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.loop.coder();
    const pulls = await Promise.all([fixture.ask(coder), fixture.ask(coder)]);
    expect(pulls.map(({ number }) => number)).toEqual([1, 1]);
    expect(fixture.github.pulls).toHaveLength(1);
  });

  test("of a reviewer's is of the run it reviews, and ends the loop", async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    fixture.loop.write(coder, 'later.txt', 'not committed');
    fixture.loop.write(reviewer, 'scribble.txt', 'notes');
    expect(await fixture.ask(reviewer)).toMatchObject({ number: 1, branch: coder.worktree!.branch });
    expect(fixture.host.files(coder.worktree!.branch)).toEqual(['README.md', 'src/parse.ts']);
    expect(await fixture.loop.lastReview(coder)).toMatchObject({ outcome: 'pull_request' });
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'REVIEW_OVER' });
    expect(await fixture.opened(coder)).toHaveLength(1);
  });
});

describe("a reviewer's pull request holds what was reviewed", () => {
  const commit = (fixture: ProposalFixture, coder: Run, path: string) => {
    fixture.loop.write(coder, path, 'later\n');
    fixture.loop.inTree(coder, 'add', '-A');
    fixture.loop.inTree(coder, 'commit', '-qm', 'Later');
  };

  test('so that it is refused when the coder has committed since it asked', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    commit(fixture, coder, 'later.txt');
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({
      code: 'REVIEW_OUTDATED',
      message: expect.stringContaining(coder.id),
      suggestions: [expect.stringContaining('send_feedback')],
    });
    expect(fixture.remoteTip(coder)).toBeNull();
    expect(await fixture.loop.store.intents()).toEqual([]);
    expect(await fixture.loop.lastReview(coder)).toMatchObject({ outcome: null });
    // Taking it back again leaves it in the history.
    fixture.loop.inTree(coder, 'rm', '-q', 'later.txt');
    fixture.loop.inTree(coder, 'commit', '-qm', 'Never mind');
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'REVIEW_OUTDATED' });
  });

  test('also when the coder has put its branch on another history', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    fixture.loop.inTree(coder, 'reset', '-q', '--hard', 'HEAD~1');
    commit(fixture, coder, 'later.txt');
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'REVIEW_OUTDATED' });
    // The same files as were reviewed, and a word to git that they came of that.
    const { commit: reviewed } = (await fixture.loop.lastReview(coder))!;
    fixture.loop.inTree(coder, 'rm', '-q', 'later.txt');
    fixture.loop.inTree(coder, 'checkout', '-q', reviewed, '--', '.');
    fixture.loop.inTree(coder, 'commit', '-qm', 'As reviewed');
    fixture.loop.inTree(coder, 'replace', '--graft', 'HEAD', reviewed);
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'REVIEW_OUTDATED' });
  });

  test('with nothing said against commits that only take feedback off or put it on', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    commit(fixture, coder, FEEDBACK_FILE);
    fixture.github.faults.push({ on: /POST .*pulls/, does: 'rate limit' });
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'GITHUB_RATE_LIMITED' });
    expect(await fixture.ask(reviewer)).toMatchObject({ number: 1 });
    expect(fixture.host.files(coder.worktree!.branch)).toEqual(['README.md', 'src/parse.ts']);
  });

  test('and not what the coder commits while it is on its way', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    const reviewed = fixture.tip(coder);
    fixture.loop.onStep = name => {
      if (name === STEPS[1]) commit(fixture, coder, 'later.txt');
    };
    expect(await fixture.ask(reviewer)).toMatchObject({ number: 1 });
    expect(fixture.tip(coder)).not.toBe(reviewed);
    expect(fixture.remoteTip(coder)).toBe(reviewed);
  });
});

describe('a reviewer that says two things at once is heard once', () => {
  test('when its feedback comes while its pull request is on its way', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    let feedback: Promise<unknown> = Promise.resolve();
    fixture.github.faults.push({
      on: /POST .*pulls/,
      does: {
        first: () => {
          feedback = fixture.loop.loop.feedback(reviewer, FEEDBACK).catch(error => error);
        },
      },
    });
    expect(await fixture.ask(reviewer)).toMatchObject({ number: 1 });
    expect(await feedback).toMatchObject({ code: 'REVIEW_OVER' });
    expect(await fixture.loop.lastReview(coder)).toMatchObject({ outcome: 'pull_request', feedback: null });
    expect(fixture.hasFeedbackFile(coder)).toBe(false);
  });

  test('when its pull request comes while its feedback is given', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    const feedback = fixture.loop.loop.feedback(reviewer, FEEDBACK);
    await expect(fixture.ask(reviewer)).rejects.toMatchObject({ code: 'REVIEW_OVER' });
    expect(await feedback).toMatchObject({ outcome: 'needs_work' });
    expect(fixture.github.pulls).toEqual([]);
    expect(fixture.remoteTip(coder)).toBeNull();
  });

  test('and its feedback counts when its pull request comes to nothing', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    fixture.host.protect();
    const asked = fixture.ask(reviewer).catch(error => error);
    await fixture.loop.loop.feedback(reviewer, FEEDBACK);
    expect(await asked).toMatchObject({ code: expect.stringMatching(/PUSH_REJECTED|REVIEW_OVER/) });
    expect(await fixture.loop.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
  });

  test('also where the coder proposes its work itself meanwhile', async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    const both = await Promise.all([fixture.ask(coder), fixture.ask(reviewer)]);
    expect(both.map(({ number }) => number)).toEqual([1, 1]);
  });
});

test('a reviewer that the hub started without the token has the one of the run it reviews', async () => {
  const fixture = await ProposalFixture.open();
  const { reviewer } = await fixture.underReview();
  const { GITHUB_TOKEN: _token, ...env } = fixture.env;
  fixture.envOf.set(reviewer.id, env);
  expect(await fixture.ask(reviewer)).toMatchObject({ number: 1 });
});

describe('a pull request is refused before anything is done', () => {
  test('without a work tree', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.loop.coder({ worktree: null });
    await expect(fixture.ask(coder)).rejects.toMatchObject({
      code: 'WORKTREE_NEEDED',
      suggestions: [expect.stringContaining('`isolation: "worktree"` in the call')],
    });
  });

  test.each([
    ['is missing', {}],
    ['is empty', { GITHUB_TOKEN: ' ' }],
    ['could break out of a header', { GITHUB_TOKEN: 'ghp_1\r\nX-Other: 1' }],
  ])('when the token %s', async (_, variables) => {
    const fixture = await ProposalFixture.open();
    const { GITHUB_TOKEN: _token, ...env } = fixture.env;
    fixture.env = { ...env, ...variables };
    const coder = await fixture.loop.coder();
    const before = fixture.tip(coder);
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'GITHUB_TOKEN_MISSING' });
    expect(fixture.tip(coder)).toBe(before);
    expect(fixture.github.seenByGit).toEqual([]);
  });

  test.each(['GITHUB_TOKEN', 'GH_TOKEN'])('but not when only the hub has it, as %s', async name => {
    const fixture = await ProposalFixture.open();
    const { GITHUB_TOKEN: token, ...env } = fixture.env;
    fixture.env = env;
    fixture.kept = { [name]: token! };
    expect(await fixture.ask(await fixture.loop.coder())).toMatchObject({ number: 1 });
  });

  test('without a remote', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.loop.coder();
    fixture.loop.repository.git('remote', 'remove', 'origin');
    const before = fixture.tip(coder);
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'REMOTE_MISSING' });
    expect(fixture.tip(coder)).toBe(before);
  });

  test('without a change: feedback is none', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.loop.coder();
    fixture.loop.inTree(coder, 'clean', '-fdq');
    fixture.loop.write(coder, FEEDBACK_FILE, 'Fix it.\n');
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'NOTHING_TO_PROPOSE' });
    expect(fixture.hasFeedbackFile(coder)).toBe(true);
    expect(fixture.remoteTip(coder)).toBeNull();
    expect(await fixture.loop.store.intents()).toEqual([]);
  });
});

describe('a pull request that fails half-way', () => {
  test('leaves the branch as it was when the push is refused', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.codedWithFeedback();
    const before = fixture.tip(coder);
    fixture.host.protect();
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'PUSH_REJECTED' });
    expect(fixture.tip(coder)).toBe(before);
    expect(fixture.loop.read(coder, FEEDBACK_FILE)).toBe('Fix it.\n');
    expect(fixture.loop.inTree(coder, 'status', '--porcelain')).toBe('');
    expect(await fixture.loop.store.intents()).toEqual([]);
  });

  test('leaves what was pushed when GitHub refuses, and goes on from there', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.codedWithFeedback();
    fixture.github.faults.push({ on: /POST .*pulls/, does: 'rate limit' });
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'GITHUB_RATE_LIMITED' });
    expect(fixture.remoteTip(coder)).toBe(fixture.tip(coder));
    expect(await fixture.loop.store.intents()).toEqual([]);
    expect(await fixture.ask(coder)).toMatchObject({ number: 1, existed: false });
  });

  test('keeps the branch when nobody knows whether it arrived', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.codedWithFeedback();
    const cut = { on: /POST .*git-receive-pack/, does: 'cut' } as const;
    fixture.github.faults.push(cut, cut, cut);
    await expect(fixture.ask(coder)).rejects.toMatchObject({ code: 'GITHUB_UNREACHABLE' });
    expect(fixture.hasFeedbackFile(coder)).toBe(false);
    fixture.github.faults.length = 0;
    expect(await fixture.ask(coder)).toMatchObject({ number: 1 });
  });
});

describe('a hub that dies', () => {
  const pulls = [0, 0, 0, 1, 1];

  test.each(STEPS.map((step, i) => [step, i] as const))(
    "in a coder's pull request, at %s",
    { tags: ['D4'] },
    async (step, i) => {
      const fixture = await ProposalFixture.open();
      const coder = await fixture.codedWithFeedback();
      const before = fixture.tip(coder);
      fixture.loop.diesAt = step;
      await expect(fixture.ask(coder)).rejects.toThrow();
      await fixture.startAgain();
      expect(await fixture.loop.store.intents()).toEqual([]);
      // Put back unless the host has it.
      if (i < 2) expect(fixture.tip(coder)).toBe(before);
      else expect(fixture.tip(coder)).toBe(fixture.remoteTip(coder));
      expect(await fixture.opened(coder)).toHaveLength(pulls[i]!);
      expect(fixture.loop.inTree(coder, 'status', '--porcelain')).toBe('');
      const run = fixture.loop.runner.current(coder.id)!;
      expect(await fixture.ask(run)).toMatchObject({ number: 1, existed: i > 2 });
      expect(fixture.github.pulls).toHaveLength(1);
      expect(fixture.remoteTip(coder)).toBe(fixture.tip(coder));
    },
  );

  test("after a reviewer's pull request was opened: the loop has ended all the same", async () => {
    const fixture = await ProposalFixture.open();
    const { coder, reviewer } = await fixture.underReview();
    fixture.loop.diesAt = STEPS[3]!;
    await expect(fixture.ask(reviewer)).rejects.toThrow();
    await fixture.startAgain();
    expect(await fixture.loop.lastReview(coder)).toMatchObject({ outcome: 'pull_request' });
  });

  test('and finds the host out of reach keeps the branch and says so', async () => {
    const fixture = await ProposalFixture.open();
    const coder = await fixture.codedWithFeedback();
    fixture.loop.diesAt = STEPS[2]!;
    await expect(fixture.ask(coder)).rejects.toThrow();
    fixture.github.faults.push({ on: /info\/refs/, does: 'break' });
    await fixture.startAgain();
    expect(fixture.loop.warnings.join()).toContain(coder.id);
    expect(fixture.tip(coder)).toBe(fixture.remoteTip(coder));
    expect(await fixture.loop.store.intents()).toEqual([]);
  });
});
