import { z } from 'zod';
import { oneLine, visibleText } from '../../base/text.ts';
import { MAX_SHOWN_QUESTION_LENGTH, shortDetails } from '../../core/inbox/ask.ts';
import { firstThatFit } from '../../core/output/digest.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';

/** Maximum length in characters of JSON, because the size of results is limited. */
const MAX_TOTAL_LENGTH = 4_000;
const MAX_FIELDS = 10;
const MAX_LENGTH = { choice: 40, name: 40 };

export const ShownAsk = z.object({
  item: z.string(),
  spawn_id: z.string(),
  kind: z.string(),
  question: z.string(),
  details: z.string().optional(),
  choices: z.array(z.string()).optional(),
  fields: z.array(z.object({ name: z.string(), type: z.string(), isRequired: z.boolean() })).optional(),
  default: z.string().nullable(),
  seconds_left: z.number(),
});
export type ShownAsk = z.infer<typeof ShownAsk>;

/** Open questions of these runs and their descendants; `asks` is absent if there are none. */
export function openQuestionsOf(
  services: Pick<Services, 'inbox' | 'runner' | 'clock'>,
  runs: readonly Run[],
): { asks?: ShownAsk[] } {
  const open = services.inbox.openFor(runs.map(({ id }) => id));
  if (open.length === 0) return {};
  const now = services.clock.now();
  const shown = open.map(item => shownAsk(item, shortDetails(item).text, now));
  return { asks: firstThatFit(shown, MAX_TOTAL_LENGTH) };
}

/** Tells a model how to answer the open questions of these runs. */
export function askNotes(services: Pick<Services, 'inbox'>, runs: readonly Run[]): string[] {
  const [first, ...more] = services.inbox.openFor(runs.map(({ id }) => id));
  if (!first) return [];
  const count = more.length === 0 ? 'asks something' : `asks something, and ${more.length} more`;
  const whom = first.owner === 'user' ? 'Put it to the user, then answer' : 'Answer';
  return [
    `${first.runId} ${count} (see asks). ${whom} with answer_question {"item":"${first.id}","answer":…}.`,
  ];
}

const shownAsk = (item: InboxItem, details: string | null, now: number): ShownAsk => ({
  item: item.id,
  spawn_id: item.runId,
  kind: item.kind,
  question: oneLine(visibleText(item.question), MAX_SHOWN_QUESTION_LENGTH),
  ...(details !== null && { details }),
  ...(item.choices.length > 0 && {
    choices: item.choices.map(choice => oneLine(visibleText(choice), MAX_LENGTH.choice)),
  }),
  ...(item.fields.length > 0 && {
    fields: item.fields.slice(0, MAX_FIELDS).map(({ name, type, isRequired }) => ({
      name: oneLine(visibleText(name), MAX_LENGTH.name),
      type,
      isRequired,
    })),
  }),
  default: item.default === null ? null : oneLine(visibleText(item.default), MAX_LENGTH.choice),
  seconds_left: Math.max(0, Math.round((item.deadlineAt - now) / 1000)),
});
