import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Worktree } from '../../../src/schema/worktree.ts';
import { ReviewSquad } from '../../support/review-squad.ts';
import { until } from '../../support/squad.ts';

const squad = new ReviewSquad();

beforeAll(() => squad.prepare());
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: { status: string; turn: number; worktree: Worktree };
  result: { note?: string; result: string };
}
interface Rounds {
  rounds: { current: number; max: number };
  reviews: { reviewerId: string; outcome: string | null }[];
}
const shown = (id: string) => squad.json<Shown>(['show', id]);
const rounds = (id: string) => squad.json<Rounds>(['review', id]);
describe('squad review', () => {
  test('shows what is under way, who waits for it and how many rounds there are', async () => {
    const { id, reviewerId } = await squad.inReview();
    const list = (await squad.run(['review'])).stdout;
    expect(list).toMatch(new RegExp(`1 +${id} +${reviewerId} +running`));
    const one = (await squad.run(['review', reviewerId])).stdout;
    expect(one).toContain(
      '1 of 3 reviews · 0 sent back, 0 failed; the task is abandoned after 5 of these two kinds',
    );
    expect(one).toContain('running');
    expect(await squad.json(['show', reviewerId])).toMatchObject({ run: { title: 'Review: Build it.' } });
    expect((await shown(id)).result.note).toContain(`${id} waits for review 1 of 3 by ${reviewerId}.`);
    expect(await squad.json(['show', id])).toMatchObject({
      review: { iteration: 1, max: 3, coderId: id, reviewerId, outcome: null },
      work: { isThere: true, saved: [], tip: expect.stringMatching(/^[0-9a-f]{40}$/) },
      pullRequest: null,
    });
    const { branch } = (await shown(id)).run.worktree;
    const coder = (await squad.run(['show', id])).stdout;
    expect(coder).toMatch(new RegExp(`review +waits for review 1 of 3 by ${reviewerId}`));
    expect(coder).toMatch(new RegExp(`branch +${branch}\n`));
    const reviewer = (await squad.run(['show', reviewerId])).stdout;
    expect(reviewer).toMatch(new RegExp(`reviews +${id}, review 1 of 3: running`));
    expect(reviewer).toMatch(new RegExp(`asked by +${id} at`));
    await squad.run(['cancel', id]);
  });

  test('gives feedback in place of the reviewer, who is stopped', async () => {
    const { id, reviewerId } = await squad.inReview();
    const said = await squad.run([
      'review',
      id,
      '--feedback',
      'Say why.\nIn the README.',
      '--type',
      'suggestions',
    ]);
    expect(said.stdout).toMatch(/feedback sent \(commit [0-9a-f]{12}\)/);
    await squad.run(['wait', id]);
    expect((await shown(id)).run).toMatchObject({ status: 'completed', turn: 2 });
    await until('it has ended', async () => (await shown(reviewerId)).run.status === 'terminated');
    const one = (await squad.run(['review', id])).stdout;
    expect(one).toMatch(/suggestions .*Say why\./);
    expect(one).toContain('Say why.\nIn the README.');
    const { branch } = (await shown(id)).run.worktree;
    expect(squad.git('show', `${branch}:REVIEW_FEEDBACK.md`)).toContain('- Reviewer: the user');
    const prompt = readFileSync(join(squad.home, 'runs', id, 'turn-2', 'prompt.md'), 'utf8');
    expect(prompt).toContain("The user's own words are quoted below");
    expect(prompt).not.toContain("another agent's opinion");
  });

  test('is the way to speak in a review: its reviewer is neither retried nor replied to', async () => {
    const { id, reviewerId } = await squad.inReview();
    await squad.run(['cancel', id]);
    await squad.run(['wait', reviewerId]);
    for (const args of [
      ['retry', reviewerId],
      ['reply', reviewerId, 'Look again'],
    ]) {
      const { code, stderr } = await squad.run(args);
      expect(code).toBe(4);
      expect(stderr).toContain('(NOT_ALLOWED)');
      expect(stderr).toContain(`squad review ${id}`);
    }
  });

  test('ends a review, after which the coder goes on', async () => {
    const { id } = await squad.inReview();
    await squad.run(['review', id, '--cancel']);
    await squad.run(['wait', id]);
    expect((await shown(id)).result.result).toBe('Heard.');
    expect(await rounds(id)).toMatchObject({ reviews: [{ outcome: 'cancelled' }] });
    const again = await squad.run(['review', id, '--cancel']);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('(REVIEW_OVER)');
  });

  test('allows more rounds than the setting', { tags: ['D5'] }, async () => {
    const { id } = await squad.inReview();
    expect((await squad.run(['review', id, '--allow', '2'])).stdout).toContain(
      'may have 5 reviews now, 1 done',
    );
    expect(await rounds(id)).toMatchObject({ rounds: { current: 1, max: 5 } });
    await squad.run(['cancel', id]);
  });

  test('gives a task up: agents stop, work trees go, work stays', async () => {
    const { id, reviewerId } = await squad.inReview();
    const trees = await Promise.all([id, reviewerId].map(async each => (await shown(each)).run.worktree));
    writeFileSync(join(trees[0]!.path, 'loose.txt'), 'not committed');
    const said = (await squad.run(['review', id, '--abandon'])).stdout;
    expect(said).toMatch(/abandoned .*task abandoned/);
    const { branch } = trees[0]!;
    const saved = `refs/squad/saved/${id}`;
    expect(said).toContain(`branch  ${branch}`);
    expect(said).toContain(`saved   ${saved}`);
    expect((await shown(reviewerId)).run.status).toBe('terminated');
    await until('the work trees are gone', () => trees.every(({ path }) => !existsSync(path)));
    expect(squad.git('show', `${trees[0]!.branch}:a.txt`)).toBe('a');
    const facts = (await squad.run(['show', id])).stdout;
    expect(facts).toMatch(new RegExp(`branch +${branch}\n`));
    expect(facts).toMatch(new RegExp(`work tree +${trees[0]!.path} \\(deleted\\)`));
    expect(facts).toMatch(new RegExp(`saved +${saved}, uncommitted changes`));
    expect(facts).toContain(`Its work is on branch ${branch}`);
    const diff = await squad.run(['diff', id]);
    expect(diff.stdout).toContain('+++ b/a.txt');
    expect(diff.stderr).toContain(`..${branch}`);
    expect(diff.stderr).toContain(`git diff ${branch} ${saved}`);
    expect((await squad.run(['diff', id, '--stat'])).stdout).toContain('A a.txt');
    squad.git('branch', '-D', branch);
    const without = await squad.run(['diff', id]);
    expect(without.stderr).toContain('(DIFF_UNAVAILABLE)');
    expect(without.stderr).toContain(saved);
    const again = await squad.run(['review', id, '--abandon']);
    expect(again.stderr).toContain('(REVIEW_OVER)');
  });

  test('lists the newest first, to people and to programs', async () => {
    const [first, second] = [await squad.inReview(), await squad.inReview()];
    const { stdout } = await squad.run(['review', '-n', '2']);
    const { reviews } = await squad.json<{ reviews: { coderId: string }[] }>(['review', '-n', '2']);
    expect(reviews.map(({ coderId }) => coderId)).toEqual([second.id, first.id]);
    expect(stdout.indexOf(first.id)).toBeGreaterThan(stdout.indexOf(second.id));
    expect(stdout).toContain(second.id);
    await squad.run(['cancel', first.id, second.id]);
  });

  test.each([
    [['--abandon'], 'squad review RUN --abandon'],
    [['--cancel'], 'squad review RUN --cancel'],
    [['--allow', '2'], 'squad review RUN --allow 2'],
    [['--feedback', 'Say why.'], 'squad review RUN --feedback "text"'],
    [['--abandon'], 'No run given'],
    [['run_x', '--abandon', '--cancel'], 'Several decisions given'],
    [['run_x', '--type', 'approved'], 'need --feedback'],
    [['run_x', '--allow', 'many'], '--allow'],
    [['run_x', '--feedback', 'x', '--type', 'bad'], 'bad'],
    [['run_zzzzzzzzzz'], 'There is no run run_zzzzzzzzzz'],
  ])('%j is refused: %s', async (args, words) => {
    const { code, stderr } = await squad.run(['review', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });
});
