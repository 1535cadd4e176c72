import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { RunAction, runActions } from '../../../src/operations/runs/run-actions.ts';
import { SquadError } from '../../../src/schema/error.ts';
import { isEnd, type RunStatus } from '../../../src/schema/run.ts';
import type { RunCard } from '../../../src/schema/run-card.ts';
import { askHub } from '../../support/ask-hub.ts';
import { GitSquad, script, scriptOf } from '../../support/git-squad.ts';
import { until } from '../../support/squad.ts';

const squad = new GitSquad({
  coder: '---\ntype: coding\nisolation: worktree\n---\nYou code.',
  reviewer: '---\ntype: review\n---\nYou review.',
  helper: 'You help.',
});

beforeAll(async () => {
  await squad.unlimited();
  await squad.set('stop.grace_ms', '200');
  await squad.set('limits.concurrency', '50');
});
afterAll(() => squad[Symbol.asyncDispose]());

type Action = z.output<typeof runActions.output>['actions'][number];
const actionsOf = async (run: string) =>
  (await askHub<{ actions: Action[] }>(squad, 'run_actions', { run })).actions;

/** Once just this can be done: a process that ends after its run is in its work tree a moment longer. */
async function settledActions(run: string, expected: RunAction[]): Promise<Action[]> {
  let actions: Action[] = [];
  const possible = () => actions.filter(({ isPossible }) => isPossible).map(({ action }) => action);
  await until(`only ${expected.join(', ')} can be done`, async () => {
    actions = await actionsOf(run);
    return possible().toSorted().join() === expected.toSorted().join();
  }).catch(thrown => {
    throw new Error(`These can be done: ${possible().join(', ')}`, { cause: thrown });
  });
  return actions;
}

const start = async (role: string, ...lines: string[]) => {
  const task = `Do it.${script(...lines)}${scriptOf(2, 'report Again.')}`;
  const members = [{ roleId: role, task }];
  const { runIds } = await askHub<{ runIds: string[] }>(squad, 'start_squad', { members });
  return runIds[0]!;
};
const statusOf = async (id: string) => {
  const { run } = await askHub<{ run: { status: RunStatus } }>(squad, 'show_run', { run: id });
  return run.status;
};
const becomes = (id: string, status: RunStatus) =>
  until(`it is ${status}`, async () => (await statusOf(id)) === status);
const over = async (id: string) => {
  await until('it has ended', async () => isEnd(await statusOf(id)));
  return id;
};
const cancel = (run: string) => askHub(squad, 'cancel_run', { spawn_id: run });

/** Runs in every condition that matters to what can be done with them. */
const CONDITIONS: Record<string, () => Promise<string>> = {
  running: async () => {
    const id = await start('coder', 'write a.txt', '| a', 'hang');
    await becomes(id, 'running');
    return id;
  },
  'that asks the user': async () => {
    const id = await start('helper', `call ask_user ${JSON.stringify({ question: 'Which one?' })}`, 'hang');
    await until('it asks', async () => {
      const { runs } = await askHub<{ runs: RunCard[] }>(squad, 'list_board', { status: ['needs_you'] });
      return runs.some(run => run.id === id && run.asking?.question === 'Which one?');
    });
    return id;
  },
  'in review': async () => {
    const ask = `call request_review ${JSON.stringify({ reviewer_prompt: script('hang') })}`;
    const id = await start('coder', 'write a.txt', '| a', ask);
    await becomes(id, 'waiting_review');
    await until('its turn is over', async () => {
      const { turns } = await askHub<{ turns: { endedAt: number | null }[] }>(squad, 'show_run', { run: id });
      return turns[0]?.endedAt;
    });
    return id;
  },
  'ended with work of its own': async () =>
    over(await start('coder', `write ${crypto.randomUUID()}.txt`, '| a')),
  'ended with nothing done': async () => over(await start('coder', 'say Nothing to do.')),
  'ended with its work tree removed': async () => {
    const commit = 'git -c user.name=A -c user.email=a@example.com commit -qm Work';
    const id = await over(
      await start('coder', `write ${crypto.randomUUID()}.txt`, '| a', `run git add -A && ${commit}`),
    );
    await askHub(squad, 'prune_worktrees', { ids: [id] });
    return id;
  },
  'failed in the user’s own folder': async () => over(await start('helper', 'fail It broke.')),
  'cancelled before it began': async () => {
    const busy = await start('helper', 'hang');
    await becomes(busy, 'running');
    await squad.set('limits.concurrency', '1');
    const id = await start('helper', 'say Hello.');
    await cancel(id);
    await cancel(busy);
    await squad.set('limits.concurrency', '50');
    await becomes(id, 'cancelled');
    return id;
  },
};

/** Settles when it was done. Throws what it was refused with. */
const CARRY_OUT: Record<RunAction, (run: string, action: Action) => Promise<unknown>> = {
  cancel: async (run, { why }) => {
    const { runs } = await askHub<{ runs: { was_running: boolean }[] }>(squad, 'cancel_run', {
      spawn_id: run,
    });
    if (!runs[0]?.was_running) throw new SquadError('REVIEW_OVER', String(why));
  },
  retry: run => askHub(squad, 'retry_runs', { id: run }),
  reply: run => askHub(squad, 'reply_to_run', { run, text: 'Go on.' }),
  abandon: run => askHub(squad, 'steer_review', { run, action: 'abandon' }),
  approve: run => feedback(run, 'approved'),
  send_back: run => feedback(run, 'needs_work'),
  cancel_review: run => askHub(squad, 'steer_review', { run, action: 'cancel' }),
  integrate: async run => {
    const plan = await askHub<{ planId: string | null; leftOut: { why: string }[] }>(
      squad,
      'plan_integration',
      {
        ids: [run],
      },
    );
    const why = plan.leftOut[0]?.why;
    if (plan.planId === null)
      throw new SquadError(
        'NOTHING_TO_PROPOSE',
        `Nothing of run ${run} can be merged: ${why ?? 'its branch has no commits'}`,
      );
  },
  comment: run =>
    askHub(squad, 'comment_on_run', {
      run,
      comments: [{ path: 'README.md', line: 1, side: 'new', text: 'Say b.' }],
    }),
  attach: async (run, { command }) => {
    if (command.endsWith('--take-over')) return askHub(squad, 'take_over', { run, only_look: true });
    const { is_over } = await askHub<{ is_over: boolean }>(squad, 'open_session', { run });
    expect(is_over).toBe(false);
  },
  answer: async (run, { command }) => {
    const { items } = await askHub<{ items: { id: string }[] }>(squad, 'list_inbox', { run });
    const [item] = items;
    if (!item) throw new SquadError('INVALID_INPUT', `Run ${run} has no open question`);
    expect(command).toBe(`squad answer ${item.id} "…"`);
    await askHub(squad, 'answer_question', { item: item.id, answer: 'The first.' });
  },
  export: run => askHub(squad, 'export_run', { run }),
  remove_worktree: async run => {
    const { worktrees } = await askHub<{ worktrees: { removed: boolean; why: string }[] }>(
      squad,
      'prune_worktrees',
      {
        ids: [run],
      },
    );
    const [only] = worktrees;
    if (!only) throw new SquadError('WORKTREE_MISSING', `The work tree of run ${run} is gone`);
    if (!only.removed) throw new SquadError('WORKTREE_IN_USE', only.why);
  },
};
const feedback = (run: string, feedback_type: string) =>
  askHub(squad, 'steer_review', { run, action: 'feedback', feedback: 'Say why.', feedback_type });

describe.each(Object.entries(CONDITIONS))('of a run %s', (condition, make) => {
  test('an action that is said not to be possible is refused, for the reason given', async () => {
    const run = await make();
    const actions = await settledActions(run, EXPECTED[condition]!);
    for (const action of actions) {
      expect(action.command).toMatch(/^squad /);
      expect(action.effect).toMatch(/\.$/);
      if (action.isPossible) expect(action.why).toBeNull();
      else
        await expect(CARRY_OUT[action.action](run, action), action.action).rejects.toMatchObject({
          message: action.why,
        });
    }
    await cancel(run);
  });

  test('an action that is said to be possible is done', async () => {
    for (const action of EXPECTED[condition]!) {
      const run = await make();
      const actions = await settledActions(run, EXPECTED[condition]!);
      const told = actions.find(each => each.action === action)!;
      await CARRY_OUT[action](run, told).catch(thrown => {
        throw new Error(`${action} of ${run} was refused`, { cause: thrown });
      });
      await cancel(run);
    }
  });
});

const EXPECTED: Record<string, RunAction[]> = {
  running: ['cancel', 'abandon', 'attach', 'export'],
  'that asks the user': ['cancel', 'abandon', 'answer', 'attach', 'export'],
  'in review': ['cancel', 'abandon', 'approve', 'send_back', 'cancel_review', 'comment', 'attach', 'export'],
  'ended with work of its own': ['retry', 'reply', 'integrate', 'comment', 'export', 'remove_worktree'],
  'ended with nothing done': ['retry', 'reply', 'comment', 'export', 'remove_worktree'],
  'ended with its work tree removed': ['retry', 'reply', 'integrate', 'comment', 'export'],
  'failed in the user’s own folder': ['retry', 'reply', 'comment', 'export'],
  'cancelled before it began': ['retry', 'export'],
};

test('says before how many more a cancel would stop', async () => {
  squad.role('lead', `---\nspawn: true\n---\nYou lead.`);
  const members = JSON.stringify({
    members: [1, 2].map(() => ({ roleId: 'helper', task: `Wait.${script('hang')}` })),
  });
  const id = await start('lead', `call start_squad_members ${members}`, 'hang');
  await until('both are running', async () => {
    const { runs } = await squad.json<{ runs: { parentId: string; status: string }[] }>(['ls', '--running']);
    return runs.filter(run => run.parentId === id && run.status === 'running').length === 2;
  });
  const told = (await actionsOf(id)).find(({ action }) => action === 'cancel')!;
  expect(told.effect).toBe('Stops this agent and 2 it started; output so far is kept.');
  expect(told.command).toBe(`squad cancel ${id}`);
  await cancel(id);
});
