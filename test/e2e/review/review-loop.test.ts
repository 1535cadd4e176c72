import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Evidence } from '../../../src/schema/evidence.ts';
import type { IntegrationPlan } from '../../../src/schema/integration.ts';
import type { FeedbackType } from '../../../src/schema/review.ts';
import type { Worktree } from '../../../src/schema/worktree.ts';
import { script, scriptOf } from '../../support/git-squad.ts';
import { ReviewSquad } from '../../support/review-squad.ts';
import { callTool, until } from '../../support/squad.ts';

/** The reviewer follows a script on the branch that it reviews. */
const FOLLOWS = `You review.${script('follow review.script')}`;
const squad = new ReviewSquad(FOLLOWS);

beforeAll(() => squad.prepare());
afterAll(() => squad[Symbol.asyncDispose]());

interface Shown {
  run: {
    status: string;
    turn: number;
    chatId: string;
    worktree: Worktree;
    notes: string[];
    error: { code: string; message: string } | null;
  };
  result: { result: string };
}
const shown = (id: string) => squad.shown<Shown>(id);
const done = async (id: string) => {
  await squad.run(['wait', id]);
  return shown(id);
};
interface Listed {
  reviews: {
    id: string;
    reviewerId: string;
    iteration: number;
    outcome: string | null;
    reason: string | null;
  }[];
}
const reviewsOf = async (id: string) => (await squad.json<Listed>(['review', id])).reviews;

/** Asks for a review by somebody who does what these lines say. */
const ask = (...lines: string[]) =>
  [
    'write review.script',
    ...lines.map(line => `| ${line}`),
    `call request_review ${JSON.stringify({ completion_message: 'It is done.' })}`,
  ].join('\n');
const feedback = (feedback_type: FeedbackType, text: string) =>
  `call send_feedback ${JSON.stringify({ feedback: text, feedback_type, actionable_items: ['Fix it'] })}`;

describe('a review loop', () => {
  test('goes on until the reviewer approves, on one chat and one branch', { tags: ['D2'] }, async () => {
    const id = await squad.startCoder(
      `Build it.${script('write feature.txt', '| one', ask('run cat feature.txt', feedback('needs_work', 'Say two.')), 'report Asked.')}${scriptOf(
        2,
        'run cat REVIEW_FEEDBACK.md',
        'append feature.txt',
        '| two',
        ask('run cat feature.txt', feedback('needs_work', 'Say three.')),
      )}${scriptOf(3, 'append feature.txt', '| three', ask(feedback('approved', 'Good.')))}${scriptOf(4, 'report All approved.')}`,
    );
    const { run, result } = await done(id);
    expect(run).toMatchObject({ status: 'completed', turn: 4, error: null });
    expect(result.result).toBe('All approved.');
    const reviews = await reviewsOf(id);
    expect(reviews.map(({ iteration, outcome }) => [iteration, outcome])).toEqual([
      [1, 'needs_work'],
      [2, 'needs_work'],
      [3, 'approved'],
    ]);
    for (const { reviewerId } of reviews) {
      const reviewer = (await shown(reviewerId)).run;
      expect(reviewer.status).toBe('terminated');
      await until('its work tree is gone', () => !existsSync(reviewer.worktree.path));
    }
    const { branch, path } = run.worktree;
    expect(readFileSync(join(path, 'feature.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect(squad.git('show', `${branch}:REVIEW_FEEDBACK.md`)).toContain('Good.');
    // A branch is removed after its work tree.
    await until('their branches are gone', () => squad.git('branch', '--list', 'squad/reviewer/*') === '');
    expect(squad.git('status', '--porcelain')).toBe('');
  });

  test('a reviewer sees what the coder had not committed, in a tree of its own', {
    tags: ['D2'],
  }, async () => {
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| mine', ask('run cat a.txt', 'write a.txt', '| theirs', 'run git branch --show-current', feedback('suggestions', 'Fine.')))}${scriptOf(2, 'run cat a.txt')}`,
    );
    const { run, result } = await done(id);
    expect(run.status).toBe('completed');
    expect(result.result).toContain('mine');
    expect(result.result).not.toContain('theirs');
  });

  test('a coder whose turn is still running gets the feedback when the turn ends', {
    tags: ['D2'],
  }, async () => {
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a', ask(feedback('clarification', 'Why?')), 'sleep 600ms', 'say still here')}${scriptOf(2, 'report Because.')}`,
    );
    const { run, result } = await done(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2 });
    expect(result.result).toBe('Because.');
  });

  test('a reviewer that says nothing is a failed review, and the coder is notified', {
    tags: ['D3'],
  }, async () => {
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a', ask('say I have seen it'))}${scriptOf(2, 'report Alone then.')}`,
    );
    const { run } = await done(id);
    expect(run).toMatchObject({ status: 'completed', turn: 2 });
    expect(await reviewsOf(id)).toMatchObject([{ outcome: 'no_feedback' }]);
    const prompt = readFileSync(join(squad.home, 'runs', id, 'turn-2', 'prompt.md'), 'utf8');
    expect(prompt).toMatch(/without feedback/i);
  });

  test('a reviewer that breaks is one, too', async () => {
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a', ask('fail it broke'))}${scriptOf(2, 'say on')}`,
    );
    expect((await done(id)).run.status).toBe('completed');
    expect(await reviewsOf(id)).toMatchObject([{ outcome: 'error' }]);
  });

  test('ends at the limit, with what to do instead', { tags: ['D5'] }, async () => {
    const again = (turn: number) =>
      scriptOf(turn, `append a.txt`, `| ${turn}`, ask(feedback('needs_work', 'More.')));
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a', ask(feedback('needs_work', 'More.')))}${again(2)}${again(3)}${again(4)}`,
    );
    const { run, result } = await done(id);
    expect(run).toMatchObject({ status: 'completed', turn: 4 });
    const refused = JSON.parse(/request_review refused: (.*)/.exec(result.result)![1]!);
    expect(refused).toMatchObject({
      error: 'REVIEW_LIMIT_EXCEEDED',
      message: `Maximum review iterations (3) reached for agent ${id}`,
      suggestions: [
        'Create pull request with current work',
        'Abandon this approach and try different solution',
        'Manually review and fix issues before requesting review',
      ],
      current_iteration: 3,
      max_iterations: 3,
      code: 'REVIEW_LIMIT_EXCEEDED',
      tool_name: 'request_review',
      instance_id: id,
    });
  });

  test('that ended at the limit without approval needs a decision, until its task is taken up or given up', {
    tags: ['D5'],
  }, async () => {
    const again = (turn: number) =>
      scriptOf(turn, 'append a.txt', `| ${turn}`, ask(feedback('needs_work', 'More.')));
    const task = `Build it.${script('write a.txt', '| a', ask(feedback('needs_work', 'More.')))}${again(2)}${again(3)}${scriptOf(4, 'report All done!')}`;
    const id = await squad.startCoder(task);
    const waited = await squad.run(['wait', id]);
    expect(waited.code).toBe(4);
    expect(waited.stdout).toContain('needs you');
    const { run } = await shown(id);
    expect(run).toMatchObject({ status: 'completed', turn: 4, error: { code: 'REVIEW_LIMIT_EXCEEDED' } });
    for (const words of ['pull request', `squad review ${id} --abandon`, `squad review ${id} --diff`])
      expect(run.error?.message).toContain(words);

    const client = await squad.client();
    expect(await callTool(client, 'get_result', { spawn_id: id })).toMatchObject({
      ...{ status: 'needs_you', success: false, result: 'All done!' },
      error: { code: 'REVIEW_LIMIT_EXCEEDED', message: expect.stringContaining('--abandon') },
    });
    interface Board {
      counts: Record<string, number>;
      runs: { id: string; need: string }[];
    }
    const needOf = async () => {
      const { runs, counts } = await squad.json<Board>(['ls', '--need']);
      return { need: runs.find(each => each.id === id)?.need, counted: counts.needs_you };
    };
    const before = await needOf();
    expect(before).toMatchObject({ need: 'needs_you' });
    for (const command of [['ls'], ['ls', '--need'], ['show', id], ['worktrees']]) {
      const line = (await squad.run(command)).stdout.split('\n').find(each => /needs you/.test(each));
      expect(line, command.join(' ')).toBeDefined();
    }
    expect((await squad.run(['show', id])).stdout.split('Maximum review iterations')).toHaveLength(2);

    const { plan } = await squad.json<{ plan: IntegrationPlan }>(['integrate', '--dry-run']);
    expect(plan.branches.map(({ runId }) => runId)).not.toContain(id);
    expect(plan.leftOut).toContainEqual({
      runId: id,
      why: expect.stringContaining('did not approve'),
      canBeNamed: true,
    });
    const named = await squad.json<{ plan: IntegrationPlan }>(['integrate', '--dry-run', id]);
    expect(named.plan.branches.map(({ runId }) => runId)).toEqual([id]);

    expect(await callTool(client, 'get_result', { spawn_id: id, stream: 'result' })).toMatchObject({
      status: 'needs_you',
    });
    expect(await callTool(client, 'cancel_run', { spawn_id: id })).toMatchObject({
      runs: [{ spawn_id: id, status: 'needs_you', was_running: false }],
    });
    expect((await squad.run(['review', id, '--allow', '1'])).stdout).toContain(`${id}  needs you`);

    await squad.run(['review', id, '--abandon']);
    expect((await shown(id)).run).toMatchObject({ status: 'abandoned', error: null });
    await until('its work tree is gone', async () => !existsSync(run.worktree.path));
    expect(await needOf()).toEqual({ need: 'done', counted: before.counted! - 1 });
  });

  test('whose last allowed review approved is done', async () => {
    await squad.set('review.max_iterations', '1');
    try {
      const id = await squad.startCoder(
        `Build it.${script('write a.txt', '| a', ask(feedback('approved', 'Good.')))}${scriptOf(2, 'report Done.')}`,
      );
      expect((await done(id)).run).toMatchObject({ status: 'completed', error: null });
    } finally {
      await squad.set('review.max_iterations', '3');
    }
  });

  test('counts the rounds of what a coder starts as its own', async () => {
    squad.role('lead', '---\ntype: coding\nisolation: worktree\nspawn: true\n---\nYou lead.');
    const more = (path: string) => [`write ${path}`, '| x', ask(feedback('needs_work', 'More.'))];
    const child = {
      ...{ include_context: false, roleId: 'coder', isolation: 'worktree' },
      prompt: `Go on.${script(...more('child.txt'))}${scriptOf(2, 'say told')}`,
    };
    const task = `Build it.${script(...more('a.txt'))}${scriptOf(2, `call spawn_agent ${JSON.stringify(child)}`)}`;
    const { runIds } = await squad.json<{ runIds: [string] }>(['run', '-d', 'lead', task]);
    expect((await done(runIds[0])).run.status).toBe('completed');
    const [own, other, ...none] = await squad
      .json<{ reviews: { coderId: string; iteration: number }[] }>(['review', runIds[0]])
      .then(({ reviews }) => reviews);
    expect([own, other]).toMatchObject([{ coderId: runIds[0], iteration: 1 }, { iteration: 2 }]);
    expect(other?.coderId).not.toBe(runIds[0]);
    expect(none).toEqual([]);
  });

  test('cancelling the coder ends its review and its reviewer', async () => {
    const id = await squad.startCoder(`Build it.${script('write a.txt', '| a', ask('hang'))}`);
    const [review] = await until('it is being reviewed', async () => {
      const found = await reviewsOf(id);
      return found.length > 0 && (await shown(found[0]!.reviewerId)).run.status === 'running' && found;
    });
    await until('it waits', async () => (await shown(id)).run.status === 'waiting_review');
    await squad.run(['cancel', id]);
    expect((await done(id)).run.status).toBe('cancelled');
    await until(
      'the reviewer has ended',
      async () => (await shown(review!.reviewerId)).run.status !== 'running',
    );
    await until('the review is closed', async () => (await reviewsOf(id))[0]!.outcome === 'cancelled');
  });
});

test('a reviewer has the engine of its coder, unless its role names one', async () => {
  const own = new ReviewSquad(FOLLOWS);
  await using _ = own;
  delete own.env.ENGINE_COMMAND;
  await own.json(['config', 'set', 'stop.grace_ms', '200']);
  const task = `Build it.${script('write a.txt', '| a', ask(feedback('approved', 'Good.')))}${scriptOf(2, 'say done')}`;
  const once = async () => {
    const { runIds } = await own.json<{ runIds: [string] }>([
      'run',
      '-d',
      '--engine',
      'scripted',
      'coder',
      task,
    ]);
    await own.run(['wait', runIds[0]]);
    return own.json<Listed>(['review', runIds[0]]);
  };
  expect((await once()).reviews).toMatchObject([{ outcome: 'approved' }]);
  own.role('reviewer', `---\ntype: review\nengine: no-such-engine\n---\nYou review.`);
  expect((await once()).reviews).toEqual([]);
});

describe('over its turns a run', () => {
  test('has one evidence: every tool call, and nothing that a reviewer wrote', async () => {
    const id = await squad.startCoder(
      `Build it.${script('write feature.txt', '| one', ask(feedback('suggestions', 'Fine.')))}${scriptOf(2, 'run true')}`,
    );
    await done(id);
    const { run } = await squad.json<{ run: { evidence: Evidence } }>(['show', id]);
    const { evidence } = run;
    // Two files and a call in the first turn, a command in the second.
    expect(evidence).toMatchObject({ toolCalls: 4, filesChanged: { count: 2 }, commits: { count: 1 } });
    expect(evidence.filesChanged?.files).toEqual(['A feature.txt', 'A review.script']);
    expect(evidence.commits?.newest[0]?.subject).toContain(`Work of ${id}`);
  });

  test('has one budget: gone over, there is no next turn', async () => {
    const task = `Build it.${script('usage 10 10 0 3', 'write a.txt', '| a', ask(feedback('needs_work', 'More.')))}`;
    const { runIds } = await squad.json<{ runIds: string[] }>(['run', '-d', '--budget', '1', 'coder', task]);
    const { run } = await done(runIds[0]!);
    expect(run).toMatchObject({ status: 'error', turn: 1, error: { code: 'BUDGET_EXCEEDED' } });
    expect(run.error?.message).toContain('3');
  });

  test('has one limit of output', async () => {
    await squad.json(['config', 'set', 'output.max_bytes', '200000']);
    const id = await squad.startCoder(
      `Build it.${script('write a.txt', '| a', ask('hang'), 'flood 1MB', 'sleep 5s')}${scriptOf(2, 'say never')}`,
    );
    const { run } = await done(id);
    await squad.json(['config', 'unset', 'output.max_bytes']);
    expect(run).toMatchObject({ status: 'error', turn: 1, error: { code: 'OUTPUT_LIMIT' } });
  });

  test('writes one output for whoever follows the offsets', async () => {
    const id = await squad.startCoder(
      `Build it.${script('say in the first turn', 'write a.txt', '| a', ask(feedback('suggestions', 'Fine.')))}${scriptOf(2, 'say in the second turn')}`,
    );
    await done(id);
    const client = await squad.client();
    let [text, offset, size] = ['', 0, 1];
    while (offset < size) {
      const { page } = await callTool<{ page: { text: string; next_offset: number; size: number } }>(
        client,
        'get_result',
        { spawn_id: id, stream: 'stdout', offset },
      );
      [text, offset, size] = [text + page.text, page.next_offset, page.size];
    }
    expect(text).toContain('in the first turn');
    expect(text).toContain('in the second turn');
  });
});

describe('refusals', () => {
  test.each([
    ['nothing was changed', ['call request_review'], 'NOTHING_TO_PROPOSE'],
    [
      'a second one while the first is open',
      ['write a.txt', '| a', ask('hang'), ask('say x')],
      'REVIEW_OPEN',
    ],
  ])('%s', async (_, lines, code) => {
    const id = await squad.startCoder(`Build it.${script(...lines)}`);
    const { result } = await until('it has asked', async () => {
      const found = await shown(id);
      return found.run.status !== 'running' && found.run.status !== 'queued' && found;
    });
    const said = result.result || (await squad.run(['log', id])).stdout;
    expect(said).toContain(`"code":"${code}"`);
    await squad.run(['cancel', id]);
  });
});
