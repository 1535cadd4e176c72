import { z } from 'zod';
import { commentsText, LineComment, MAX_COMMENT_LENGTH } from '../../core/review/review-input.ts';
import { checkTask } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { replyTo } from '../runs/reply-to-run.ts';
import { startRuns } from '../runs/start-runs.ts';
import { coderOf } from './steer-review.ts';

/** Sends comments on lines of a run's changes to the coder: as feedback in the open review, or as a reply. */
export const commentOnRun = operation({
  name: 'comment_on_run',
  route: 'POST /runs/{run}/comments',
  input: z.strictObject({
    run: z.string(),
    comments: z.array(LineComment).min(1).max(200),
    /** Replaces the default introduction. */
    message: z.string().max(MAX_COMMENT_LENGTH).optional(),
  }),
  output: z.object({
    way: z.enum(['reply', 'feedback']),
    /** The run that gets them. */
    runId: RunId,
  }),
  async run(call, { run: given, comments, message }) {
    const { services } = call;
    const text = commentsText(comments, message);
    checkTask(text);
    const { way, runId } = await commentTarget(call, await findRun(services, given));
    const coder = await findRun(services, runId);
    if (way === 'feedback') {
      await services.reviews.answer(coder, {
        ...{ feedback: text, type: 'needs_work', priority: null, actionableItems: [] },
      });
      return { way, runId };
    }
    const { asked, workspace } = await replyTo(call, coder, text);
    const { runs } = await startRuns(call, asked, workspace);
    return { way, runId: runs[0]!.run.id };
  },
});

/** How comments reach the coder, and which run that is. Throws RUN_NOT_OVER while they cannot. */
export async function commentTarget(
  { services }: Pick<Call, 'services'>,
  run: Run,
): Promise<{ way: 'reply' | 'feedback'; runId: RunId }> {
  // A reviewer shows the work of its coder.
  const coder = await coderOf(services, run.id);
  const { id: runId, status } = coder;
  const [open] = await services.store.reviews({ coderId: runId, isOpen: true, limit: 1 });
  if (open && !isEnd(status)) return { way: 'feedback', runId };
  if (isEnd(status)) return { way: 'reply', runId };
  throw new SquadError(
    'RUN_NOT_OVER',
    `Run ${runId} is ${status}: comments reach it only during a review, or when it has ended`,
    {
      suggestions: [
        `Wait for it (\`squad wait ${shellWord(runId)}\`) or stop it (\`squad cancel ${shellWord(runId)}\`), then send them. Nothing was sent.`,
      ],
    },
  );
}
