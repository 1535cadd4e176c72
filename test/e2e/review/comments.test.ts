import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHub } from '../../support/ask-hub.ts';
import { script, scriptOf } from '../../support/git-squad.ts';
import { ASK, ReviewSquad } from '../../support/review-squad.ts';
import { until } from '../../support/squad.ts';

const squad = new ReviewSquad();

beforeAll(() => squad.prepare());
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: { status: string; turn: number; lineageId: string; chatId: string };
  result: { result: string };
}
const shown = (run: string) => askHub<Shown>(squad, 'show_run', { run });
const promptOf = (id: string, turn: number) =>
  readFileSync(join(squad.home, 'runs', id, `turn-${turn}`, 'prompt.md'), 'utf8');
/** One that changes something when it goes on. */
const inReview = () => squad.inReview('write a.txt', '| b');

describe('comments on a run', () => {
  test('that is in review are the feedback, and the run continues with them', async () => {
    squad.write('lib/b c.txt', '1\n2\n');
    squad.git('add', '-A');
    squad.git('commit', '-qm', 'Second');
    const { id } = await inReview();
    const { stdout } = await squad.run(['comment', id, 'a.txt:1', 'Say b.', 'lib/b c.txt:2', 'Why?']);
    expect(stdout).toContain(`The review was cancelled; ${id} continues with your 2 comments`);
    await squad.run(['wait', id]);
    expect((await shown(id)).run).toMatchObject({ status: 'completed', turn: 2 });
    const prompt = promptOf(id, 2);
    expect(prompt).toContain("The user's own words");
    expect(prompt).toMatch(/a\.txt:1\n.*Say b\.[\s\S]*lib\/b c\.txt:2\n.*Why\?/);
    const { reviews } = await squad.json<{ reviews: object[] }>(['review', id]);
    expect(reviews).toMatchObject([{ outcome: 'needs_work', feedbackBy: 'user' }]);
  });

  test('sent to its reviewer reach the run whose work it is', async () => {
    const { id, reviewerId } = await inReview();
    const sent = await squad.json(['comment', reviewerId, 'a.txt:1', 'Say b.']);
    expect(sent).toEqual({ way: 'feedback', runId: id });
    await squad.run(['wait', id]);
  });

  test('that has ended become a reply on its chat, with the line each is about', async () => {
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a')}${scriptOf(2, 'report Seen to.')}`,
    );
    await squad.run(['wait', id]);
    const sent = await askHub<{ way: string; runId: string }>(squad, 'comment_on_run', {
      run: id,
      comments: [{ path: 'a.txt', line: 1, side: 'old', quote: 'a', text: 'Say b.' }],
      message: 'Nearly.',
    });
    expect(sent).toEqual({ way: 'reply', runId: expect.not.stringMatching(id) });
    await squad.run(['wait', sent.runId]);
    const reply = await shown(sent.runId);
    expect(reply.run).toMatchObject({
      status: 'completed',
      lineageId: id,
      chatId: (await shown(id)).run.chatId,
    });
    expect(reply.result.result).toBe('Seen to.');
    expect(promptOf(sent.runId, 1)).toContain(
      'Nearly.\n\na.txt:1 (as it was before your changes)\n> a\nSay b.',
    );
  });

  test('on a file or a line that is not there are refused, and nothing is sent', async () => {
    const id = await squad.startCoder(`Build it.${script('write a.txt', '| a')}`);
    await squad.run(['wait', id]);
    for (const [place, problem] of [
      ['b.txt:1', `There is no text file b.txt in the folder of run ${id}`],
      ['a.txt:2', `a.txt has 1 line in the folder of run ${id}: there is no line 2`],
      ['../../state/trust.json:1', 'There is no text file ../../state/trust.json'],
    ] as const)
      expect(await squad.run(['comment', id, 'a.txt:1', 'Fine.', place, 'Say b.'])).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining(problem),
      });
    const { runs } = await squad.json<{ runs: { lineageId: string }[] }>(['ls']);
    expect(runs.filter(({ lineageId }) => lineageId === id)).toHaveLength(1);
  });

  test('that is running are refused with the time they will reach it, and nothing is started', async () => {
    const id = await squad.startCoder(`Build it.${script('hang')}`);
    await until('it is running', async () => (await shown(id)).run.status === 'running');
    const { code, stderr } = await squad.run(['comment', id, 'a.txt:1', 'Say b.']);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `Run ${id} is running: comments reach it only during a review, or when it has ended`,
    );
    expect(stderr).toContain('Nothing was sent.');
    expect(await shown(id)).toMatchObject({ run: { status: 'running', turn: 1 } });
    await squad.run(['cancel', id]);
  });

  test.each([
    [['a.txt:1'], 'Missing comment text after a.txt:1'],
    [['a.txt', 'Say b.'], 'a.txt is not FILE:LINE'],
    [['a.txt:0', 'Say b.'], 'a.txt:0 is not FILE:LINE'],
    [['a.txt:1', ' '], 'The comment on a.txt:1 is empty'],
  ])('are refused when they are not comments: %j', async (words, message) => {
    const { code, stderr } = await squad.run(['comment', 'run_0000000000', ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('changes between rounds', () => {
  test('is shown for the last round against the one before, without the text of the reviewer', async () => {
    const feedback = JSON.stringify({ feedback: 'Say two.', feedback_type: 'needs_work' });
    const first = `call request_review ${JSON.stringify({ reviewer_prompt: script(`call send_feedback ${feedback}`) })}`;
    const id = await squad.startCoder(
      `Build it.${script('write f.txt', '| one', first)}${scriptOf(2, 'append f.txt', '| two', ASK)}`,
    );
    await until('its second review is under way', async () => {
      const { reviews } = await squad.json<{ reviews: { outcome: string | null }[] }>(['review', id]);
      return reviews.length === 2 && reviews[1]!.outcome === null;
    });
    const last = await squad.run(['review', id, '--diff']);
    expect(last.stdout).toMatch(/^diff --git a\/f\.txt b\/f\.txt$/m);
    expect(last.stdout).toMatch(/^ one\n\+two$/m);
    expect(last.stdout).not.toContain('REVIEW_FEEDBACK.md');
    expect(last.stderr).toContain('Round 2: since round 1');

    const { reviews } = await squad.json<{ reviews: { id: string; commit: string }[] }>(['review', id]);
    const began = await askHub<{ text: string; to: string; notes: string[] }>(squad, 'diff_review', {
      review: reviews[0]!.id,
    });
    expect(began.text).toMatch(/^\+one$/m);
    expect(began).toMatchObject({
      to: reviews[0]!.commit,
      notes: [expect.stringContaining('the first round')],
    });
    await squad.run(['cancel', id]);
  });

  test('is refused for a review there is not, and where there was none', async () => {
    const near = (await squad.json<{ reviews: { id: string }[] }>(['review'])).reviews[0]!.id;
    const typo = `${near.slice(0, -1)}${near.endsWith('z') ? 'y' : 'z'}`;
    await expect(askHub(squad, 'diff_review', { review: typo })).rejects.toMatchObject({
      code: 'REVIEW_UNKNOWN',
      suggestions: [expect.stringContaining(near)],
    });
    const id = await squad.startCoder(`Build it.${script('say Done.')}`);
    await squad.run(['wait', id]);
    const { code, stderr } = await squad.run(['review', id, '--diff']);
    expect(code).toBe(1);
    expect(stderr).toContain(`${id} has no reviews yet`);
    expect((await squad.run(['review', '--diff'])).stderr).toContain('squad review RUN --diff');
  });
});
