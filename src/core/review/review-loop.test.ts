import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FEEDBACK_FILE } from '../../schema/review.ts';
import { savedRefOf } from '../../schema/worktree.ts';
import { FEEDBACK, LoopFixture, NO_WORDS } from './testing/loop-fixture.ts';

const HOUR_MS = 3_600_000;
const code = (expected: string) => expect.objectContaining({ code: expected });

describe('a coder that asks for a review', () => {
  test('has its work on its branch, a reviewer in a fork of it, and waits', { tags: ['D2'] }, async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { review, reviewer, worktree, sessionName } = await squad.loop.request(coder, {
      reviewerPrompt: 'Look at the last line',
      completionMessage: 'The parser is there',
    });
    expect(squad.inTree(coder, 'status', '--porcelain')).toBe('');
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(review.commit);
    expect(squad.git(worktree.path, 'rev-parse', 'HEAD')).toBe(review.commit);
    expect(squad.git(worktree.path, 'branch', '--show-current')).not.toBe(coder.worktree?.branch);
    expect(worktree.base).toBe(review.commit);
    expect(sessionName).toBe(`squad-${reviewer.id}`);
    expect((await squad.store.run(coder.id))?.status).toBe('waiting_review');
    expect(await squad.reviews(coder)).toEqual([review]);
    expect(review).toMatchObject({ iteration: 1, outcome: null, completionMessage: 'The parser is there' });
    expect(await squad.store.intents()).toEqual([]);
    expect(reviewer.worktree).toEqual(worktree);
    for (const words of ['Write the parser', 'The parser is there', 'Look at the last line'])
      expect(reviewer.task).toContain(words);
    expect(reviewer.task).toContain(
      `git diff --no-ext-diff ${coder.worktree?.base}...${coder.worktree?.branch}`,
    );
  });

  test('is refused while one is under way, also when both come at once', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const both = await Promise.allSettled([
      squad.loop.request(coder, NO_WORDS),
      squad.loop.request(coder, NO_WORDS),
    ]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(both[1]).toMatchObject({ reason: { code: 'REVIEW_OPEN' } });
    expect(await squad.reviews(coder)).toHaveLength(1);
  });

  test('needs a work tree, one that is still there, and something in it', async () => {
    const squad = await LoopFixture.open();
    await expect(squad.loop.request(await squad.coder({ worktree: null }), NO_WORDS)).rejects.toMatchObject({
      code: 'WORKTREE_NEEDED',
      suggestions: [expect.stringContaining('`isolation: "worktree"` in the call')],
    });
    const idle = await squad.coder();
    rmSync(`${idle.worktree?.path}/src`, { recursive: true });
    await expect(squad.loop.request(idle, NO_WORDS)).rejects.toThrow(code('NOTHING_TO_PROPOSE'));
    const robbed = await squad.coder();
    rmSync(robbed.worktree!.path, { recursive: true });
    await expect(squad.loop.request(robbed, NO_WORDS)).rejects.toThrow(code('WORKTREE_MISSING'));
    expect(await squad.store.intents()).toEqual([]);
    expect(await squad.store.reviews({ limit: 9 })).toEqual([]);
  });

  test('finds everything as it was when its reviewer cannot be started', { tags: ['D2'] }, async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const before = squad.inTree(coder, 'rev-parse', 'HEAD');
    squad.runner.refusal = new Error('too many starts');
    await expect(squad.loop.request(coder, NO_WORDS)).rejects.toThrow('too many starts');
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(before);
    expect(squad.inTree(coder, 'status', '--porcelain')).toBe('?? src/');
    expect(squad.git(squad.repository.root, 'worktree', 'list').split('\n')).toHaveLength(2);
    expect(squad.git(squad.repository.root, 'branch', '--list', 'squad/reviewer/*')).toBe('');
    expect(await squad.store.intents()).toEqual([]);
    expect(squad.warnings).toEqual([]);
    squad.runner.refusal = null;
    await squad.loop.request(coder, NO_WORDS);
    expect(await squad.reviews(coder)).toHaveLength(1);
  });

  test('is reviewed undisturbed by what could not be taken back before', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    squad.runner.refusal = new Error('too many starts');
    const { commit } = squad.store;
    squad.ports.store.commit = change =>
      change.intentsDone ? Promise.reject(new Error('The disk is full')) : commit.call(squad.store, change);
    await expect(squad.loop.request(coder, NO_WORDS)).rejects.toThrow('too many starts');
    expect(await squad.store.intents()).toHaveLength(1);
    squad.runner.refusal = null;
    squad.ports.store.commit = change => commit.call(squad.store, change);
    const { review } = await squad.loop.request(coder, NO_WORDS);
    await squad.startAgain();
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(review.commit);
    expect(await squad.reviews(coder)).toEqual([review]);
    expect(await squad.store.intents()).toEqual([]);
  });

  test('may commit on the way: what it did then is reviewed too', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    let tries = 0;
    const { apply } = squad.branches;
    squad.branches.apply = async (...given) => {
      if (tries++ === 0) {
        squad.write(coder, 'late.ts', 'late');
        squad.inTree(coder, 'add', 'late.ts');
        squad.inTree(coder, 'commit', '-qm', 'Late');
      }
      return apply(...given);
    };
    const { review } = await squad.loop.request(coder, NO_WORDS);
    expect(tries).toBe(2);
    const files = squad.inTree(coder, 'ls-tree', '-r', '--name-only', review.commit);
    expect(files.split('\n')).toEqual(expect.arrayContaining(['late.ts', 'src/parse.ts']));
    expect(await squad.store.intents()).toEqual([]);
  });

  test('is refused beyond the limit of its task, which a person can raise', async () => {
    const squad = await LoopFixture.open();
    squad.settings = { ...squad.settings, 'review.max_iterations': 1 };
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.loop.feedback(reviewer, FEEDBACK);
    await squad.runner.turnEnds(coder.id);
    await squad.settled();
    await expect(squad.loop.request(coder, NO_WORDS)).rejects.toMatchObject({
      code: 'REVIEW_LIMIT_EXCEEDED',
      message: `Maximum review iterations (1) reached for agent ${coder.id}`,
      details: { current_iteration: 1, max_iterations: 1 },
    });
    expect(await squad.loop.allow(coder, 2)).toMatchObject({ current: 1, max: 3 });
    const second = await squad.loop.request(coder, NO_WORDS);
    expect(second.review.iteration).toBe(2);
  });
});

describe('feedback', () => {
  test('is put on the coder’s branch, with everything else there as it was, and begins its next turn', {
    tags: ['D3'],
  }, async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    squad.write(coder, 'src/parse.ts', 'export const more = 1;\n');
    const closed = await squad.loop.feedback(reviewer, FEEDBACK);
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(closed.feedbackCommit);
    expect(squad.inTree(coder, 'show', '--name-only', '--format=', 'HEAD')).toBe(FEEDBACK_FILE);
    expect(squad.read(coder, FEEDBACK_FILE)).toContain(
      '> The parser drops the last line.\n> See src/parse.ts:12.',
    );
    expect(squad.inTree(coder, 'status', '--porcelain')).toBe('M src/parse.ts');
    expect(squad.runner.told.get(coder.id)).toBeUndefined();

    await squad.runner.turnEnds(coder.id);
    await squad.settled();
    expect(squad.runner.current(coder.id)).toMatchObject({ status: 'running', turn: 2 });
    expect(squad.runner.told.get(coder.id)).toEqual([
      expect.stringContaining('> The parser drops the last line.'),
    ]);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work', toldInTurn: 2 });
  });

  test('ends its reviewer a moment later, and its work tree with it', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.loop.feedback(reviewer, FEEDBACK);
    await squad.settled();
    expect(squad.runner.stopped).toEqual([]);
    await squad.later(3_000, coder);
    expect(squad.runner.stopped).toEqual([[reviewer.id, 'terminate']]);
    expect((await squad.store.run(reviewer.id))?.status).toBe('terminated');
    expect(squad.hasTree(reviewer)).toBe(false);
    expect(squad.git(squad.repository.root, 'branch', '--list', 'squad/reviewer/*')).toBe('');
    expect(squad.hasTree(coder)).toBe(true);
  });

  test('is taken once, not after the end, not without a review, not empty and not without measure', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    const send = (more: object) => squad.loop.feedback(reviewer, { ...FEEDBACK, ...more });
    await expect(send({ feedback: ' \n' })).rejects.toThrow(code('INVALID_INPUT'));
    await expect(send({ feedback: 'x'.repeat(70_000) })).rejects.toThrow(code('INVALID_INPUT'));
    await expect(send({ feedback: 'a\0b' })).rejects.toThrow(code('INVALID_TEXT'));
    const both = await Promise.allSettled([send({}), send({ type: 'approved' })]);
    expect(both[1]).toMatchObject({ status: 'rejected', reason: { code: 'REVIEW_OVER' } });
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
    const alone = { ...reviewer, id: coder.id, reviewOf: null };
    await expect(squad.loop.feedback(alone, FEEDBACK)).rejects.toThrow(code('NOT_ALLOWED'));
  });

  test('ends what its reviewer has started too, also when that one ended by itself', async () => {
    const squad = await LoopFixture.open();
    for (const endsItself of [false, true]) {
      const coder = await squad.coder();
      const { reviewer } = await squad.loop.request(coder, NO_WORDS);
      const { lineageId } = coder;
      const child = await squad.coder({ parentId: reviewer.id, lineageId, type: null, worktree: null });
      const grandchild = await squad.coder({ parentId: child.id, lineageId, type: null, worktree: null });
      const other = await squad.coder({ parentId: coder.id, lineageId, type: null, worktree: null });
      await squad.loop.feedback(reviewer, FEEDBACK);
      await squad.settled();
      expect(squad.runner.current(child.id)?.status).toBe('running');
      if (endsItself) await squad.runner.turnEnds(reviewer.id, 'terminate');
      else await squad.later(3_000, coder);
      await squad.settled();
      for (const { id } of [child, grandchild]) expect((await squad.store.run(id))?.status).toBe('cancelled');
      expect(squad.runner.current(other.id)?.status).toBe('running');
    }
  });

  test('comes too late for a coder that has ended', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.stop(coder.id, 'cancel');
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow(code('REVIEW_OVER'));
    await squad.settled();
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'cancelled' });
    expect(squad.runner.stopped).toContainEqual([reviewer.id, 'terminate']);
    expect(squad.hasTree(reviewer)).toBe(false);
  });

  test('leaves nothing behind when it cannot be written down', { tags: ['D3'] }, async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { review, reviewer } = await squad.loop.request(coder, NO_WORDS);
    const { commit } = squad.store;
    squad.ports.store.commit = change =>
      change.reviews ? Promise.reject(new Error('The disk is full')) : commit.call(squad.store, change);
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The disk is full');
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(review.commit);
    expect(squad.inTree(coder, 'status', '--porcelain')).toBe('');
    expect(await squad.store.intents()).toEqual([]);
    squad.ports.store.commit = change => commit.call(squad.store, change);
    await squad.loop.feedback(reviewer, FEEDBACK);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
  });

  test('of a person goes the same way', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.loop.answer(coder, { ...FEEDBACK, type: 'approved' });
    expect(squad.read(coder, FEEDBACK_FILE)).toContain('Reviewer: the user');
    expect(squad.runner.stopped).toEqual([[reviewer.id, 'terminate']]);
    await expect(squad.loop.answer(coder, FEEDBACK)).rejects.toThrow(code('REVIEW_OVER'));
  });

  test('of a person who has seen another round changes nothing', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    await squad.loop.request(coder, NO_WORDS);
    await expect(squad.loop.answer(coder, FEEDBACK, 2)).rejects.toThrow(code('REVIEW_OVER'));
    expect(squad.runner.stopped).toEqual([]);
    await squad.loop.answer(coder, FEEDBACK, 1);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
  });
});

describe('a review without feedback', () => {
  test.each([
    ['complete', 'no_feedback'],
    ['fail', 'error'],
    ['time_out', 'timeout'],
    ['cancel', 'cancelled'],
  ] as const)('whose reviewer ends by %s is %s, and the coder is notified', async (step, outcome) => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    await squad.runner.turnEnds(reviewer.id, step, { error: { code: 'ENGINE_FAILED', message: 'no key' } });
    await squad.settled();
    expect(await squad.lastReview(coder)).toMatchObject({ outcome, toldInTurn: 2, feedback: null });
    expect(squad.runner.told.get(coder.id)).toEqual([expect.stringContaining('Nobody has judged your work')]);
    expect(squad.hasTree(reviewer)).toBe(false);
  });

  test('that takes too long is over, and so is its reviewer', { tags: ['D5'] }, async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    await squad.later(23 * HOUR_MS, coder);
    expect((await squad.lastReview(coder))?.outcome).toBeNull();
    await squad.later(2 * HOUR_MS, coder);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'timeout' });
    expect(squad.runner.stopped).toEqual([[reviewer.id, 'terminate']]);
    expect(squad.runner.current(coder.id)?.turn).toBe(2);
  });

  test('that a person ends is reported to the coder', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    await squad.loop.cancel(coder, 'The user ended it.');
    await squad.settled();
    expect(squad.runner.stopped).toEqual([[reviewer.id, 'terminate']]);
    expect(squad.runner.told.get(coder.id)).toEqual([expect.stringContaining('somebody ended the review')]);
  });
});

describe('the end of a loop', () => {
  test('is a pull request of the reviewer: the coder is done', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    const pr = {
      number: 7,
      url: 'https://github.example/p/7',
      existed: false,
      branch: coder.worktree!.branch,
    };
    await squad.loop.openedPullRequest(reviewer, pr);
    await squad.later(3_000, coder);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'pull_request', reason: pr.url });
    expect((await squad.store.run(coder.id))?.status).toBe('completed');
    expect((await squad.store.run(reviewer.id))?.status).toBe('terminated');
    expect(squad.runner.told.get(coder.id)).toBeUndefined();
    const events = await squad.store.events({ runId: coder.id, limit: 99 });
    expect(events.map(({ body }) => body.type)).toContain('pull_request.opened');
  });

  test('is abandonment after so many reviews in vain: the work is kept, the work trees are not', {
    tags: ['D5'],
  }, async () => {
    const squad = await LoopFixture.open();
    squad.settings = { ...squad.settings, 'review.auto_abandon_after': 2 };
    const coder = await squad.coder();
    for (const round of [1, 2]) {
      squad.write(coder, `round-${round}.ts`, `${round}`);
      const { reviewer } = await squad.loop.request(coder, NO_WORDS);
      squad.write(coder, 'unsaved.ts', `not committed in round ${round}`);
      await squad.loop.feedback(reviewer, FEEDBACK);
      await squad.runner.turnEnds(coder.id);
      await squad.later(3_000, coder);
    }
    expect(await squad.store.run(coder.id)).toMatchObject({
      status: 'abandoned',
      notes: [
        `Abandoned: 2 reviews of this task sent it back. Its work is on branch ${coder.worktree!.branch}; what was not committed, if anything, is saved as ${savedRefOf(coder.worktree!)}.`,
      ],
    });
    expect(squad.hasTree(coder)).toBe(false);
    const { branch } = coder.worktree!;
    expect(squad.git(squad.repository.root, 'ls-tree', '--name-only', branch)).toContain('round-2.ts');
    const saved = squad.git(squad.repository.root, 'for-each-ref', '--format=%(refname)', 'refs/squad/saved');
    expect(squad.git(squad.repository.root, 'ls-tree', '--name-only', saved)).toContain('unsaved.ts');
    const removed = await squad.store.events({ runId: coder.id, types: ['worktree.removed'], limit: 9 });
    expect(removed).toMatchObject([{ body: { savedRef: saved, branchIsGone: false } }]);
  });

  test('of a reviewer that could not propose is reported with the reason', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    const called = { type: 'tool.called' as const, tool: 'create_pull_request', client: null, durationMs: 1 };
    const of = { at: 1, runId: reviewer.id, squadId: null };
    await squad.store.commit({ events: [{ ...of, body: { ...called, ok: false, code: 'PUSH_REFUSED' } }] });
    await squad.runner.turnEnds(coder.id);
    await squad.runner.turnEnds(reviewer.id);
    await squad.settled();
    expect((await squad.lastReview(coder))?.reason).toContain(
      'create_pull_request was refused (PUSH_REFUSED)',
    );
    expect(squad.runner.told.get(coder.id)?.[0]).toContain('PUSH_REFUSED');
  });

  test('is a person’s word, at any time', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.loop.abandon(coder, 'The user abandoned the task.');
    await squad.settled();
    expect(squad.runner.stopped).toEqual([
      [coder.id, 'abandon'],
      [reviewer.id, 'terminate'],
    ]);
    expect(await squad.lastReview(coder)).toMatchObject({
      outcome: 'cancelled',
      reason: 'The user abandoned the task.',
    });
    expect([squad.hasTree(coder), squad.hasTree(reviewer)]).toEqual([false, false]);
  });
});

test('a work tree of an abandoned task stays while another agent runs in it', async () => {
  const squad = await LoopFixture.open();
  const coder = await squad.coder();
  const guest = await squad.coder({ worktree: coder.worktree });
  await squad.loop.abandon(coder, 'The user abandoned the task.');
  await squad.settled();
  expect(squad.hasTree(coder)).toBe(true);
  await squad.runner.turnEnds(guest.id);
  await squad.settled();
  expect(squad.hasTree(coder)).toBe(false);
});

describe('a hub that dies', () => {
  test.each(['request_review:1', 'request_review:2', 'request_review:3'])(
    'at %s leaves nothing of the review to the next one',
    { tags: ['D7'] },
    async name => {
      const squad = await LoopFixture.open();
      const coder = await squad.coder();
      const before = squad.inTree(coder, 'rev-parse', 'HEAD');
      squad.diesAt = name;
      await expect(squad.loop.request(coder, NO_WORDS)).rejects.toThrow('The hub is dead');
      expect(await squad.store.intents()).toHaveLength(1);
      for (const _ of ['once', 'twice']) {
        await squad.startAgain();
        expect(await squad.store.intents()).toEqual([]);
        expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(before);
        expect(squad.inTree(coder, 'status', '--porcelain')).toBe('?? src/');
        expect(squad.git(squad.repository.root, 'worktree', 'list').split('\n')).toHaveLength(2);
        expect(await squad.reviews(coder)).toEqual([]);
        expect((await squad.store.run(coder.id))?.status).toBe('running');
      }
      await squad.loop.request(squad.runner.current(coder.id)!, NO_WORDS);
      expect(await squad.reviews(coder)).toHaveLength(1);
    },
  );

  test('at request_review:4 leaves a review that goes on', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    squad.diesAt = 'request_review:4';
    await expect(squad.loop.request(coder, NO_WORDS)).rejects.toThrow('The hub is dead');
    await squad.startAgain();
    const [reviewer] = await squad.store.runs({ parentId: coder.id, limit: 1 });
    expect(squad.hasTree(reviewer!)).toBe(true);
    await squad.loop.feedback(reviewer!, FEEDBACK);
    await squad.settled();
    expect(squad.runner.current(coder.id)).toMatchObject({ status: 'running', turn: 2 });
  });

  test.each(['send_feedback:1', 'send_feedback:2', 'send_feedback:3'])(
    'at %s has the feedback given once by the next one',
    async name => {
      const squad = await LoopFixture.open();
      const coder = await squad.coder();
      const { review, reviewer } = await squad.loop.request(coder, NO_WORDS);
      await squad.runner.turnEnds(coder.id);
      await squad.settled();
      squad.diesAt = name;
      await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
      for (const _ of ['once', 'twice']) {
        await squad.startAgain();
        await squad.settled();
        expect(await squad.store.intents()).toEqual([]);
        expect(squad.inTree(coder, 'rev-list', '--count', `${review.commit}..HEAD`)).toBe('1');
        expect(squad.inTree(coder, 'status', '--porcelain')).toBe('');
        expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work', toldInTurn: 2 });
        expect((await squad.store.run(coder.id))?.turn).toBe(2);
      }
    },
  );

  test('has the feedback given as soon as another git lets go, whatever became of its reviewer', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { review, reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    squad.diesAt = 'send_feedback:1';
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    const lock = join(squad.inTree(coder, 'rev-parse', '--absolute-git-dir'), 'index.lock');
    writeFileSync(lock, 'of the agent');
    await squad.startAgain();
    expect(await squad.store.intents()).toHaveLength(1);
    await squad.runner.turnEnds(reviewer.id);
    await squad.settled();
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: null });
    await expect(squad.loop.answer(coder, FEEDBACK)).rejects.toThrow(code('GIT_BUSY'));
    expect(await squad.store.intents()).toHaveLength(1);
    rmSync(lock);
    await squad.later(5_000, coder);
    expect(await squad.store.intents()).toEqual([]);
    expect(squad.inTree(coder, 'rev-list', '--count', `${review.commit}..HEAD`)).toBe('1');
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work', toldInTurn: 2 });
    expect(squad.warnings.join()).not.toContain('could not be given');
  });

  test('does not keep a review open for another git longer than it may last', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { review, reviewer } = await squad.loop.request(coder, NO_WORDS);
    squad.diesAt = 'send_feedback:1';
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    const lock = join(squad.inTree(coder, 'rev-parse', '--absolute-git-dir'), 'index.lock');
    writeFileSync(lock, 'of the agent');
    await squad.startAgain();
    squad.ahead = review.deadlineAt - Date.now();
    await squad.later(1, coder);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'timeout' });
    await squad.later(1, coder);
    expect(await squad.store.intents()).toEqual([]);
  });

  test.each(['abandon:1', 'abandon:2'])('at %s leaves a task given up, not half of it', async name => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    await squad.settled();
    squad.diesAt = name;
    const given = squad.loop.abandon(coder, 'The user abandoned the task.');
    await expect(given).rejects.toThrow('The hub is dead');
    await squad.startAgain();
    await squad.settled();
    expect((await squad.store.run(coder.id))?.status).toBe('abandoned');
    expect((await squad.store.run(coder.id))?.turn).toBe(1);
    expect((await squad.store.run(reviewer.id))?.status).toBe('terminated');
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'cancelled' });
    expect(squad.runner.told.size).toBe(0);
    expect([squad.hasTree(coder), squad.hasTree(reviewer)]).toEqual([false, false]);
    expect(await squad.store.intents()).toEqual([]);
  });

  test('is not kept from what it can see by a database that cannot be asked for the rest', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    await squad.runner.turnEnds(coder.id);
    const recovered = squad.startAgain(async () => {
      const { reviews } = squad.store;
      squad.ports.store.reviews = async filter => {
        if (filter.isOpen && !filter.coderId) throw new Error('The disk is gone');
        return reviews.call(squad.store, filter);
      };
    });
    await expect(recovered).rejects.toThrow('The disk is gone');
    await squad.loop.feedback(reviewer, FEEDBACK);
    await squad.settled();
    expect(squad.runner.current(coder.id)).toMatchObject({ status: 'running', turn: 2 });
  });

  test('stops what a reviewer had started that is gone', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    const { lineageId } = coder;
    const child = await squad.coder({ parentId: reviewer.id, lineageId, type: null, worktree: null });
    await squad.loop.feedback(reviewer, { ...FEEDBACK, type: 'approved' });
    await squad.runner.turnEnds(coder.id);
    await squad.settled();
    await squad.loop.close();
    for (const [{ id }, status] of [
      [coder, 'completed'],
      [reviewer, 'terminated'],
    ] as const)
      await squad.store.commit({ runs: [{ ...(await squad.store.run(id))!, status }], events: [] });
    await squad.startAgain();
    await squad.settled();
    expect((await squad.store.run(child.id))?.status).toBe('cancelled');
  });

  test('asks nothing about runs of other runs that are part of no review: there may be thousands', async () => {
    const squad = await LoopFixture.open();
    const lead = await squad.coder();
    for (let i = 0; i < 4; i++) await squad.coder({ parentId: lead.id, type: null, worktree: null });
    let asked = 0;
    await squad.startAgain(async () => {
      const { reviews } = squad.store;
      squad.ports.store.reviews = filter => {
        asked++;
        return reviews.call(squad.store, filter);
      };
    });
    expect(asked).toBe(1);
  });

  test('has the feedback given on top of what the coder committed meanwhile', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    squad.diesAt = 'send_feedback:1';
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    squad.write(coder, 'late.ts', 'late');
    squad.inTree(coder, 'add', 'late.ts');
    squad.inTree(coder, 'commit', '-qm', 'Late');
    await squad.startAgain();
    expect(squad.inTree(coder, 'log', '-2', '--format=%s').split('\n')).toEqual([
      expect.stringContaining('eedback'),
      'Late',
    ]);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
  });

  test('has no feedback given in a review that was ended otherwise since', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { review, reviewer } = await squad.loop.request(coder, NO_WORDS);
    squad.diesAt = 'send_feedback:1';
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    await squad.store.commit({ reviews: [{ ...review, outcome: 'cancelled' }], events: [] });
    await squad.startAgain();
    expect(squad.inTree(coder, 'rev-parse', 'HEAD')).toBe(review.commit);
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'cancelled' });
    expect(await squad.store.intents()).toEqual([]);
  });

  test('has the feedback given also when its reviewer has ended meanwhile', async () => {
    const squad = await LoopFixture.open();
    const coder = await squad.coder();
    const { reviewer } = await squad.loop.request(coder, NO_WORDS);
    squad.diesAt = 'send_feedback:1';
    await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    await squad.loop.close();
    squad.start();
    // As when somebody finds out before the loop has looked.
    const ended = { ...reviewer, status: 'completed' as const };
    await squad.store.commit({ runs: [ended], events: [] });
    squad.loop.onEnd(ended);
    await squad.settled();
    await squad.loop.finishIntents();
    await squad.loop.recover();
    expect(await squad.lastReview(coder)).toMatchObject({ outcome: 'needs_work' });
  });

  test('is not kept from the rest by one branch that is gone', async () => {
    const squad = await LoopFixture.open();
    const [broken, sound] = [await squad.coder(), await squad.coder()];
    const asked = [await squad.loop.request(broken, NO_WORDS), await squad.loop.request(sound, NO_WORDS)];
    for (const { reviewer } of asked) {
      await squad.loop.close();
      squad.start();
      squad.diesAt = 'send_feedback:1';
      await expect(squad.loop.feedback(reviewer, FEEDBACK)).rejects.toThrow('The hub is dead');
    }
    rmSync(broken.worktree!.path, { recursive: true });
    squad.git(squad.repository.root, 'worktree', 'prune');
    squad.git(squad.repository.root, 'branch', '-qD', broken.worktree!.branch);
    expect(await squad.store.intents()).toHaveLength(2);
    await squad.startAgain();
    expect(await squad.store.intents()).toEqual([]);
    expect(squad.warnings).toContainEqual(expect.stringContaining('could not be given'));
    expect(await squad.lastReview(broken)).toMatchObject({ outcome: null });
    expect(await squad.lastReview(sound)).toMatchObject({ outcome: 'needs_work' });
  });

  test('does not keep reviewers that are done, nor their work trees, nor open reviews nobody makes', async () => {
    const squad = await LoopFixture.open();
    const [one, two] = [await squad.coder(), await squad.coder()];
    const done = await squad.loop.request(one, NO_WORDS);
    const silent = await squad.loop.request(two, NO_WORDS);
    await squad.runner.turnEnds(one.id);
    await squad.runner.turnEnds(two.id);
    await squad.loop.feedback(done.reviewer, FEEDBACK);
    await squad.loop.close();
    const [row] = await squad.store.runs({ parentId: two.id, limit: 1 });
    await squad.store.commit({ runs: [{ ...row!, status: 'lost' }], events: [] });
    squad.ahead += 3_000;
    await squad.startAgain();
    await squad.settled();
    expect(squad.runner.stopped).toEqual([[done.reviewer.id, 'terminate']]);
    expect(await squad.lastReview(two)).toMatchObject({ outcome: 'error', toldInTurn: 2 });
    expect([squad.hasTree(done.reviewer), squad.hasTree(silent.reviewer)]).toEqual([false, false]);
  });
});
