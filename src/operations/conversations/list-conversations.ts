import { z } from 'zod';
import { nearest } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { runSummary, ShownStatus } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation, type Services } from '../operation.ts';

const MAX_CONVERSATIONS = 500;

/** Stored conversations, one for each run, newest first. */
export const listConversations = operation({
  name: 'list_conversations',
  route: 'GET /conversations',
  input: z.strictObject({
    workspace: z.string().optional(),
    /** Name of a subagent. */
    subagent: z.string().optional(),
    /** Only those that began before this time. */
    before: z.number().optional(),
    limit: z.number().int().min(1).max(MAX_CONVERSATIONS).default(50),
  }),
  output: z.object({
    conversations: z.array(
      z.object({
        run: RunId,
        label: z.string(),
        subagent: z.string().nullable(),
        title: z.string(),
        status: ShownStatus,
        parent: RunId.nullable(),
        startedAt: z.number(),
        lastAt: z.number().nullable(),
        messages: z.number(),
      }),
    ),
    /** Value of `before` for the next page; null: there are no more. */
    next: z.number().nullable(),
  }),
  async run({ services }, { limit, ...filter }) {
    const found = await services.conversations.conversations({ ...filter, limit: limit + 1 });
    if (found.length === 0 && filter.subagent !== undefined) await refuseUnknown(services, filter.subagent);
    const conversations = await Promise.all(
      found.slice(0, limit).map(async ({ runId, ...conversation }) => {
        const run = services.runner.current(runId) ?? (await services.store.run(runId));
        return {
          run: runId,
          ...conversation,
          title: run ? runSummary(run) : '',
          // Rows of a run are removed together; only a reader between two of them finds one without the other.
          status: run ? shownStatus(run) : ('lost' as const),
          parent: run?.parentId ?? null,
        };
      }),
    );
    return { conversations, next: found.length > limit ? conversations.at(-1)!.startedAt : null };
  },
});

async function refuseUnknown({ conversations }: Services, subagent: string): Promise<void> {
  const known = await conversations.talkers();
  if (known.includes(subagent)) return;
  const near = nearest(subagent, known);
  throw new SquadError('INVALID_INPUT', `No subagent ${subagent} has been called yet`, {
    suggestions: [
      near.length > 0
        ? `Did you mean ${near.join(' or ')}?`
        : known.length > 0
          ? `Those that have: ${known.slice(0, 10).join(', ')}`
          : 'A subagent is called over MCP: `squad mcp serve --config FILE`.',
    ],
  });
}
