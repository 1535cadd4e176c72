import { z } from 'zod';
import { answerText } from '../../core/inbox/answer.ts';
import { SEEN_WHOLE, shortDetails } from '../../core/inbox/ask.ts';
import { SquadError } from '../../schema/error.ts';
import { type InboxItem, InboxState, YES } from '../../schema/inbox.ts';
import { operation } from '../operation.ts';

export const answerQuestion = operation({
  name: 'answer_question',
  route: 'POST /inbox/{item}/answer',
  agents: 'lead',
  tool: {
    title: 'Answer question',
    description:
      "Answer what an agent asks (item: its id). Put the user's questions to the user; do not guess.",
    readOnly: false,
    listed: { output: z.object({ answer: z.string().nullable() }) },
  },
  input: z.strictObject({
    item: z.string(),
    answer: z.string().optional(),
    decline: z.boolean().optional(),
  }),
  output: z.object({
    id: z.string(),
    state: InboxState,
    answer: z.string().nullable(),
    question: z.string(),
  }),
  async run({ services, caller, isByModel }, { item: given, answer: said, decline = false }) {
    const { inbox } = services;
    const item = await inbox.find(given);
    const { id } = item;
    if ((said === undefined) !== decline) throw oneOfBoth();
    if (isByModel && !caller.parent && said !== undefined) checkSeen(item, said);
    const by = caller.parent
      ? { who: 'run' as const, via: caller.parent.id }
      : { who: 'user' as const, via: caller.client };
    const { state, answer, question } = await (said === undefined
      ? inbox.decline(id, by)
      : inbox.answer(id, said, by));
    return { id, state, answer, question };
  },
});

const oneOfBoth = () =>
  new SquadError('INVALID_INPUT', 'Give either an answer or decline', {
    suggestions: [
      '{ item, answer } answers; { item, decline: true } tells the agent that nobody will answer.',
    ],
  });

/** A model cannot pass on a yes to something that it saw only in part. */
function checkSeen(item: InboxItem, said: string): void {
  const { hidden } = shortDetails(item);
  if (item.state !== 'open' || hidden === 0 || answerText(item, said) !== YES) return;
  throw new SquadError(
    'ANSWER_INVALID',
    `${item.id} cannot be allowed here: ${hidden} characters of it were not shown`,
    { suggestions: [`Ask the user to look: ${SEEN_WHOLE}.`, 'A no is accepted here.'] },
  );
}
