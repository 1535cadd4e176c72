import { describe, expect, test } from 'vitest';
import type { Run } from '../../schema/run.ts';
import { ProposalFixture } from './testing/proposal-fixture.ts';

const issue = (title: string) => ({ title, body: `About ${title}`, labels: ['plan'] });
const LIST = ['One', 'Two', 'Three'].map(issue);

async function planner(): Promise<{ fixture: ProposalFixture; run: Run }> {
  const fixture = await ProposalFixture.open();
  const run = await fixture.loop.coder({
    type: 'planning',
    worktree: null,
    directory: fixture.loop.repository.root,
  });
  return { fixture, run };
}

describe('issues', () => {
  test('are created in order, and written down', async () => {
    const { fixture, run } = await planner();
    const made = await fixture.proposals.createIssues(run, LIST);
    expect(made).toEqual(
      LIST.map(({ title }, i) => ({
        number: i + 1,
        title,
        url: `${fixture.github.origin}/octo/demo/issues/${i + 1}`,
      })),
    );
    expect(fixture.github.issues).toEqual(LIST.map((each, i) => ({ number: i + 1, ...each })));
    const events = await fixture.loop.store.events({ runId: run.id, types: ['issues.created'], limit: 10 });
    expect(events).toHaveLength(3);
  });

  test('of which one is refused: created issues are reported, and a retry continues after them', {
    tags: ['D4'],
  }, async () => {
    const { fixture, run } = await planner();
    fixture.github.faults.push(
      { on: /POST .*issues/, does: { first: () => {} } },
      { on: /POST .*issues/, does: { first: () => {} } },
      { on: /POST .*issues/, does: 'unprocessable' },
    );
    const refused = await fixture.proposals.createIssues(run, LIST).catch(error => error);
    expect(refused).toMatchObject({
      code: 'GITHUB_REFUSED',
      message: expect.stringMatching(/^"Three" was not created: .*title missing_field.*#1 "One", #2 "Two"$/),
      details: {
        created: [
          { issue_number: 1, title: 'One' },
          { issue_number: 2, title: 'Two' },
        ],
        not_created: ['Three'],
      },
    });
    await fixture.startAgain();
    const made = await fixture.proposals.createIssues(run, LIST);
    expect(made.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(fixture.github.issues.map(({ title }) => title)).toEqual(['One', 'Two', 'Three']);
  });

  test('asked for twice at once are created once', async () => {
    const { fixture, run } = await planner();
    await Promise.all([fixture.proposals.createIssues(run, LIST), fixture.proposals.createIssues(run, LIST)]);
    expect(fixture.github.issues).toHaveLength(3);
  });

  test('whose fate is not known are to be looked for', async () => {
    const { fixture, run } = await planner();
    fixture.github.faults.push({ on: /POST .*issues/, does: 'cut body' });
    await expect(fixture.proposals.createIssues(run, LIST)).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      suggestions: expect.arrayContaining([expect.stringContaining('Check on GitHub')]),
    });
  });

  test('with the same title are refused before any is created', async () => {
    const { fixture, run } = await planner();
    await expect(fixture.proposals.createIssues(run, [...LIST, issue('One')])).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(fixture.github.seen).toEqual([]);
  });
});
