import { z } from 'zod';
import { answerText } from '../core/inbox/answer-text.ts';
import { SEEN_WHOLE, shortDetails } from '../core/inbox/short-details.ts';
import { SquadError } from '../schema/error.ts';
import { type InboxItem, InboxState, YES } from '../schema/inbox.ts';
import { operation } from './operation.ts';

export const answerQuestion = operation({
  name: 'answer_question',
  tool: {
    title: 'Answer question',
    description:
      "Answer what an agent asks (item: its id). Put the user's questions to the user; do not guess.",
    readOnly: false,
    listed: { output: z.object({ answer: z.string().nullable() }) },
  },
  input: z.strictObject({ item: z.string(), answer: z.string() }),
  output: z.object({
    id: z.string(),
    state: InboxState,
    answer: z.string().nullable(),
    question: z.string(),
  }),
  async run({ services, caller, isByModel }, { item: given, answer: said }) {
    const { inbox } = services;
    const item = await inbox.find(given);
    const { id } = item;
    if (isByModel && !caller.parent) checkSeen(item, said);
    const by = caller.parent
      ? { who: 'run' as const, via: caller.parent.id }
      : { who: 'user' as const, via: caller.client };
    const { state, answer, question } = await inbox.answer(id, said, by);
    return { id, state, answer, question };
  },
});

/** Nobody allows by way of a model what the model had only the beginning of. */
function checkSeen(item: InboxItem, said: string): void {
  const { hidden } = shortDetails(item);
  if (item.state !== 'open' || hidden === 0 || answerText(item, said) !== YES) return;
  throw new SquadError(
    'ANSWER_INVALID',
    `${item.id} was not shown whole here: ${hidden} characters are missing, so it cannot be allowed here`,
    { suggestions: [`Ask the user to look: ${SEEN_WHOLE}.`, 'A no is taken here as well.'] },
  );
}
