import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';
import { type Action, actionsOf } from './action-checks.ts';
import { findRun } from './find.ts';

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

/** What can be done with a run now, what it would do, and why something cannot be: asked of whatever would refuse it. */
export const runActions = operation({
  name: 'run_actions',
  route: 'GET /runs/{run}/actions',
  agents: null,
  tool: null,
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    actions: z.array(
      z.object({
        action: RunAction,
        label: z.string(),
        /** In a sentence, to be read before. */
        effect: z.string(),
        /** The same in a terminal. */
        command: z.string(),
        isPossible: z.boolean(),
        /** Null: it is possible. */
        why: z.string().nullable(),
        /** Why the user has to type the command themselves; null: it can be asked for. */
        byHand: z.string().nullable(),
      }),
    ),
  }),
  async run(call, { run: given }) {
    const run = await findRun(call.services, given);
    const actions = await actionsOf(call, { ...run });
    return {
      actions: await Promise.all(
        RunAction.options.map(async action => ({ action, ...(await told(actions[action])) })),
      ),
    };
  },
});

async function told({ label, command, effect, check }: Action) {
  try {
    const refined = await check();
    return { label, command, effect, byHand: null, ...refined, isPossible: true, why: null };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    return { label, command, effect, byHand: null, isPossible: false, why: thrown.message };
  }
}
