import { z } from 'zod';
import { InboxState } from '../schema/inbox.ts';
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
  async run({ services, caller }, { item: given, answer: said }) {
    const { inbox } = services;
    const { id } = await inbox.find(given);
    const by = caller.parent
      ? { who: 'run' as const, via: caller.parent.id }
      : { who: 'user' as const, via: caller.client };
    const { state, answer, question } = await inbox.answer(id, said, by);
    return { id, state, answer, question };
  },
});
