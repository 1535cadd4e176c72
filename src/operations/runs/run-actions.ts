import { basename } from 'node:path';
import { z } from 'zod';
import { chooseCandidates } from '../../core/integration/candidates.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import { judgeWorktree } from '../../core/worktrees/removal.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation, type UserServices } from '../operation.ts';
import { atWorkOn, coderOf, commentTarget } from '../review/steer-review.ts';
import { knownWorktreeOf } from '../worktrees/worktrees.ts';
import { currentRun, findRun } from './find-runs.ts';
import { replyTo } from './reply-to-run.ts';
import { askAgain } from './retry-runs.ts';
import { planRuns } from './start-runs.ts';
import { attachCommandOf, interactiveCommand, terminalFor } from './take-over.ts';

const MAX_RUNS = 1_000;

/** Whether there is anything to merge. Conflicts are shown by the plan. */
async function checkIntegration(services: UserServices, run: Run) {
  const { store, worktrees } = services;
  const rows = await store.runs({ lineageId: run.lineageId, limit: MAX_RUNS });
  const related = await Promise.all(rows.map(row => currentRun(services, row)));
  const { candidates, leftOut } = chooseCandidates(related, new Set([run.id]));
  const [candidate] = candidates;
  if (!candidate) throw refusal(run, leftOut[0]?.why ?? 'it has no work tree of its own');
  const { worktree } = candidate;
  const { tip, ahead, isMerged, uncommitted } = await worktrees.state(worktree);
  if (tip === null) throw refusal(run, `its branch ${worktree.branch} is gone`);
  // A missing folder counts as having no uncommitted changes.
  if ((uncommitted ?? 0) > 0) return {};
  if (ahead === 0) throw refusal(run, 'its branch has no commits');
  if (isMerged) throw refusal(run, `${worktree.baseBranch} already contains its commits`);
  return {};
}

async function checkRemoval(services: UserServices, run: Run) {
  if (run.worktree === null)
    throw new SquadError('INVALID_INPUT', `Run ${run.id} has no work tree of its own.`);
  const known = await knownWorktreeOf(services, run);
  if (known === null) throw new SquadError('WORKTREE_MISSING', `The work tree of run ${run.id} is gone`);
  const { worktree, runs } = known;
  const state = await services.worktrees.state(worktree);
  const verdict = judgeWorktree({ worktree, runs, state, isNamed: true });
  if (verdict.prune === 'keep') throw new SquadError('WORKTREE_IN_USE', verdict.why);
  return { effect: `Removes the folder: ${verdict.why}.` };
}

const refusal = ({ id }: Run, why: string): SquadError =>
  new SquadError('NOTHING_TO_PROPOSE', `Nothing of run ${id} can be merged: ${why}`);

interface Action {
  label: string;
  effect: string;
  command: string;
  /** Throws the error with which the action would fail. May return a more precise effect or command. */
  check(): Promise<Partial<Pick<Action, 'effect' | 'command'>> & { byHand?: string; round?: number }>;
}

type Caller = Pick<Call<UserServices>, 'services' | 'caller'>;

async function actionsOf(call: Caller, run: Run): Promise<Record<RunAction, Action>> {
  const { services } = call;
  const { id } = run;
  const coder = await coderOf(services, id);
  const review = `squad review ${shellWord(coder.id)}`;
  const isOver = isEnd(run.status);
  const open = async () => {
    const { iteration } = await services.reviews.openReviewOf(coder);
    return { round: iteration };
  };
  const starts = async (planned: ReturnType<typeof replyTo>) => {
    await services.runner.admit(1, call.caller.parent);
    const { asked, workspace } = await planned;
    await planRuns(call, asked, workspace);
    return {};
  };
  return {
    cancel: {
      label: 'Cancel',
      effect: 'Stops this agent and everything it started; output so far is kept.',
      command: `squad cancel ${shellWord(id)}`,
      check: () => checkCancel(services, run),
    },
    retry: {
      label: 'Retry',
      effect: 'Starts the same request once more, as a new run.',
      command: `squad retry ${shellWord(id)}`,
      check: () => starts(askAgain(call, { squad: null, runs: [run] }, {})),
    },
    reply: {
      label: 'Reply',
      effect: 'Starts a new run that resumes this chat with your message.',
      command: `squad reply ${shellWord(id)} "…"`,
      check: () => starts(replyTo(call, run, '…')),
    },
    abandon: {
      label: 'Abandon',
      effect: 'Stops all agents that work on this task and removes their work trees; branches stay.',
      command: `${review} --abandon`,
      check: async () => ({ effect: abandonEffect(atWorkOn(services, coder).length) }),
    },
    approve: {
      label: 'Approve',
      effect: `Ends the current review, stops the reviewer and tells ${coder.id} that its work is approved.`,
      command: `${review} --feedback "…" --type approved`,
      check: open,
    },
    send_back: {
      label: 'Send back',
      effect: `Ends the current review, stops the reviewer and sends your feedback to ${coder.id}, which continues.`,
      command: `${review} --feedback "…"`,
      check: open,
    },
    cancel_review: {
      label: 'End the review',
      effect: `Stops the reviewer; ${coder.id} is notified and continues.`,
      command: `${review} --cancel`,
      check: open,
    },
    integrate: {
      label: 'Merge',
      effect: 'Shows the result of merging its branch; nothing is merged before you agree.',
      command: `squad integrate ${shellWord(id)}`,
      check: () => checkIntegration(services, run),
    },
    comment: {
      label: 'Comment',
      effect: 'Sends your comments on lines to the agent.',
      command: `squad comment ${shellWord(id)} FILE:LINE "…"`,
      check: async () => {
        const { way, runId } = await commentTarget(call, run);
        if (way === 'feedback')
          return { effect: `Ends the current review; ${runId} continues with your comments.` };
        await starts(replyTo(call, coder, '…'));
        return { effect: `Starts a new run on the chat of ${runId} that begins with your comments.` };
      },
    },
    attach: {
      label: 'Open in a terminal',
      effect: isOver
        ? "Opens its agent's own interactive mode on the chat."
        : 'Shows it running in its tmux session, or its log; it keeps running.',
      command: attachCommandOf(run),
      check: async () => {
        if (isOver) await interactiveCommand(call, run);
        const { program, why } = await terminalFor(call);
        return program === null ? { byHand: why } : { effect: attachEffect(program, isOver) };
      },
    },
    answer: {
      label: 'Answer',
      effect: 'Sends your answer to the agent, which then continues.',
      command: `squad inbox`,
      check: async () => checkAnswer(services, run),
    },
    export: {
      label: 'Save as a file',
      effect:
        'Saves this run in its current state as one HTML file. The file contains everything the run shows, so share it with care.',
      command: `squad export ${shellWord(id)}`,
      check: async () => ({}),
    },
    remove_worktree: {
      label: 'Remove its work tree',
      effect:
        'Removes the folder; what is not committed is kept under a ref, and a branch with commits stays.',
      command: `squad worktrees prune ${shellWord(id)}`,
      check: () => checkRemoval(services, run),
    },
  };
}

const attachEffect = (program: string, isOver: boolean): string =>
  `Opens a window of ${basename(program)} on your screen, ${
    isOver
      ? "with its agent's own interactive mode on the chat."
      : 'which shows it running in its tmux session, or its log; it keeps running.'
  }`;

async function checkCancel({ store, runner }: UserServices, run: Run) {
  const { id, status, worktree } = run;
  if (isEnd(status))
    throw new SquadError('REVIEW_OVER', `Run ${id} is ${status}: there is nothing left to stop`);
  const below = (await descendantsOf(store, id)).filter(each => runner.current(each.id)).length;
  const those = below === 0 ? 'this agent' : `this agent and ${below} it started`;
  return { effect: `Stops ${those}; output so far is kept${worktree ? ', and its work tree stays' : ''}.` };
}

function abandonEffect(count: number): string {
  const those = count === 1 ? 'the agent that works' : `all ${count} agents that work`;
  return `Stops ${those} on this task and removes their work trees; branches stay, and uncommitted changes are saved under a ref.`;
}

function checkAnswer(services: UserServices, { id }: Run) {
  const [first, ...others] = services.inbox.openOf(id);
  if (!first) throw new SquadError('INVALID_INPUT', `Run ${id} has no open question`);
  const more = others.length === 0 ? '' : ` ${others.length} more wait.`;
  return {
    effect: `Sends your answer to the agent, which then continues.${more}`,
    command: `squad answer ${shellWord(first.id)} "…"`,
  };
}

const RunAction = z.enum([
  'cancel',
  'retry',
  'reply',
  'abandon',
  'approve',
  'send_back',
  'cancel_review',
  'integrate',
  'comment',
  'attach',
  'answer',
  'export',
  'remove_worktree',
]);
export type RunAction = z.infer<typeof RunAction>;

/**
 * The actions on a run, with the effect of each, and why it is not possible, as checked by the code that would refuse
 * it.
 */
export const runActions = operation({
  name: 'run_actions',
  route: 'GET /runs/{run}/actions',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    actions: z.array(
      z.object({
        action: RunAction,
        label: z.string(),
        /** One sentence that is shown before the action. */
        effect: z.string(),
        /** Terminal command that does the same. */
        command: z.string(),
        isPossible: z.boolean(),
        /** Why the action is not possible. Null if it is possible. */
        why: z.string().nullable(),
        /** Why the user has to run the command in a terminal. Null if the web UI can request the action. */
        byHand: z.string().nullable(),
        /** Round of the open review, for the actions that end it. */
        round: z.number().optional(),
      }),
    ),
  }),
  async run(call, { run: given }) {
    const run = await findRun(call.services, given);
    const actions = await actionsOf(call, { ...run });
    return {
      actions: await Promise.all(
        RunAction.options.map(async action => ({ action, ...(await describeAction(actions[action])) })),
      ),
    };
  },
});

async function describeAction({ label, command, effect, check }: Action) {
  try {
    const refined = await check();
    return { label, command, effect, byHand: null, ...refined, isPossible: true, why: null };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    return { label, command, effect, byHand: null, isPossible: false, why: thrown.message };
  }
}
