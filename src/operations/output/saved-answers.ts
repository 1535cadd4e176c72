import { z } from 'zod';
import { NATIVE } from '../../schema/conversation.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { getConversation } from '../conversations/get-conversation.ts';
import { diffRun } from '../evidence/diff-run.ts';
import type { Call, UserServices } from '../operation.ts';
import { diffReview } from '../review/diff-review.ts';
import { showReview } from '../review/show-review.ts';
import { showRun } from '../runs/show-run.ts';
import { showSquad } from '../runs/show-squad.ts';

/** What a page would ask, and the answer or the refusal. */
export const AnsweredQuestion = z.object({
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  answer: z.unknown().optional(),
  error: z.object({ code: z.string(), message: z.string(), suggestions: z.array(z.string()) }).optional(),
});
export type AnsweredQuestion = z.infer<typeof AnsweredQuestion>;

const MOST_MESSAGES = 500;
/** Of all rounds of a review together. A run's own diff has the limit of its operation. */
const MOST_IN_ROUNDS = 16 * 1024 * 1024;

/** Each question of the pages of a run and of its squad, asked as they ask it. */
export async function answersAbout(
  call: Call<UserServices>,
  { id, squadId, engine }: Run,
): Promise<{ answers: AnsweredQuestion[]; leftOut: string[] }> {
  const run = { run: id };
  const rounds = await showReview.run(call, run);
  const answers = await Promise.all([
    answered('show_run', run, async () => withoutCommands(await showRun.run(call, run))),
    answered('show_squad', { squad: squadId }, input => showSquad.run(call, input)),
    answered('diff_run', run, input => diffRun.run(call, { ...input, stat: false })),
    answered('show_review', run, async () => rounds),
  ]);
  const leftOut: string[] = [];
  if (engine === NATIVE) {
    const all = { after: 0, limit: MOST_MESSAGES, isWhole: true };
    const said = await getConversation.run(call, { ...run, ...all });
    answers.push({ name: 'get_conversation', input: run, answer: { ...said, next: null } });
    if (said.next !== null) leftOut.push(`what was said after the first ${said.next} messages`);
  }
  let room = MOST_IN_ROUNDS;
  for (const { id: review, iteration } of rounds.reviews.toReversed()) {
    const one = await answered('diff_review', { review }, input => diffReview.run(call, input));
    room -= JSON.stringify(one).length;
    if (room >= 0) answers.push(one);
    else leftOut.push(`what changed in round ${iteration}`);
  }
  return { answers, leftOut };
}

async function answered<I extends Record<string, unknown>>(
  name: string,
  input: I,
  ask: (input: I) => Promise<unknown>,
): Promise<AnsweredQuestion> {
  try {
    return { name, input, answer: await ask(input) };
  } catch (thrown) {
    if (!(thrown instanceof SquadError)) throw thrown;
    const { code, message, suggestions } = thrown;
    return { name, input, error: { code, message, suggestions: [...suggestions] } };
  }
}

/** Commands of the user's that no page shows are not for whoever gets the file. */
function withoutCommands(shown: Awaited<ReturnType<typeof showRun.run>>) {
  return {
    ...shown,
    setting: { ...shown.setting, variables: null, command: null },
    run: { ...shown.run, options: { ...shown.run.options, onEnd: null, onAsk: null, setup: null } },
  };
}
