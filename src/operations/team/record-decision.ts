import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { runName } from '../../schema/run-text.ts';
import { type Call, operation } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** Longer text is refused, not cut: a decision must not lose its end. */
const MAX_LENGTH = { title: 200, text: 8_000 };

export const decisionRecord = operation({
  name: 'squad_decision_record',
  route: 'POST /tools/squad_decision_record',
  agents: 'record',
  tool: {
    title: 'Record a decision',
    description: "Put a decision into the team's inbox, for the others to find. Search first.",
    readOnly: false,
    toolset: 'team',
  },
  input: z.strictObject({
    title: z.string().max(MAX_LENGTH.title),
    what: z.string().max(MAX_LENGTH.text),
    why: z.string().max(MAX_LENGTH.text),
  }),
  output: z.object({ id: z.string(), file: z.string() }),
  async run(call, input) {
    for (const [name, text] of Object.entries(input))
      if (text.trim() === '')
        throw new SquadError('INVALID_INPUT', `The ${name} of the decision is empty`, {
          suggestions: ['Give a title, the decision in `what` and the reason in `why`.'],
        });
    const { team } = await call.services.workspaces.open(call.caller);
    return team.record({ ...input, ...(await authorOf(call)) }, new Date(call.services.clock.now()));
  },
});

/** The author as Squad knows it, never as the caller says. */
async function authorOf({ services, caller }: Call): Promise<{ by: string; author: string }> {
  if (!caller.parent)
    return { by: caller.client === null ? 'the user' : `the user (${caller.client})`, author: 'user' };
  const name = runName(await findRun(services, caller.parent.id));
  return { by: `${name} (${caller.parent.id})`, author: name };
}
