import { z } from 'zod';
import {
  commentsText,
  type Feedback,
  itemsOf,
  LineComment,
  MAX_COMMENT_LENGTH,
} from '../../core/review/review-input.ts';
import { checkTask } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { FeedbackType } from '../../schema/review.ts';
import { isEnd, type Run } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { isAtReviewLimit, shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { replyTo } from '../runs/reply-to-run.ts';
import { ShownWork, workOf } from '../runs/run-work.ts';
import { startRuns } from '../runs/start-runs.ts';
import { waitForEnds } from '../runs/wait.ts';
import { ShownRounds } from './show-review.ts';

/** Timeout for abandoning a task. It covers the grace period of a stopped agent and the removal of its work tree. */
const ABANDON_TIMEOUT_MS = 15_000;
const MAX_RUNS = 1_000;

export const FeedbackInput = z.strictObject({
  feedback: z.string(),
  feedback_type: FeedbackType,
  priority: z.string().optional(),
  actionable_items: z.array(z.string()).optional(),
});

export const feedbackOf = (input: z.output<typeof FeedbackInput>): Feedback => ({
  feedback: input.feedback,
  type: input.feedback_type,
  priority: input.priority ?? null,
  actionableItems: itemsOf(input.actionable_items),
});

/** The round that the person has seen. Refused with REVIEW_OVER if another one is open by now. */
const Round = z.number().int().min(1).optional();

/** A person's decision about the reviews of a run. The run is given by its own id or that of its reviewer. */
export const steerReview = operation({
  name: 'steer_review',
  route: 'POST /runs/{run}/review',
  input: z.discriminatedUnion('action', [
    z.strictObject({
      run: z.string(),
      action: z.literal('allow'),
      rounds: z.number().int().min(1).max(1000),
    }),
    z.strictObject({ run: z.string(), action: z.literal('abandon') }),
    z.strictObject({ run: z.string(), action: z.literal('cancel') }),
    z.strictObject({
      run: z.string(),
      action: z.literal('feedback'),
      round: Round,
      ...FeedbackInput.shape,
    }),
  ]),
  output: z.object({
    run: z.string(),
    status: z.string(),
    rounds: ShownRounds,
    /** Commit that contains the feedback. */
    commit: z.string().optional(),
    /** Where the work of an abandoned task can be found. */
    work: z.array(ShownWork).optional(),
  }),
  async run(call, input) {
    const { services } = call;
    const { reviews } = services;
    const coder = await coderOf(services, input.run);
    let commit: string | null = null;
    let work: ShownWork[] | null = null;
    if (input.action === 'allow') await reviews.allow(coder, input.rounds);
    else if (input.action === 'cancel') await reviews.cancel(coder, 'The user ended it.');
    else if (input.action === 'abandon') work = await abandon(call, coder);
    else ({ feedbackCommit: commit } = await reviews.answer(coder, feedbackOf(input), input.round));
    const { lineageId } = coder;
    return {
      run: coder.id,
      status: shownStatus(await findRun(services, coder.id)),
      rounds: { lineageId, ...(await reviews.rounds(lineageId)) },
      ...(commit !== null && { commit }),
      ...(work && { work }),
    };
  },
});

export async function coderOf(services: Pick<Services, 'store' | 'runner'>, given: string): Promise<Run> {
  const run = await findRun(services, given);
  return run.reviewOf === null ? run : findRun(services, run.reviewOf);
}

/**
 * The running agents that abandoning would stop. Empty at the review limit. Throws REVIEW_OVER if there is nothing to
 * abandon.
 */
export function atWorkOn({ runner }: Pick<Services, 'runner'>, coder: Run): Run[] {
  const atWork = runner.liveRuns().filter(run => run.lineageId === coder.lineageId && !isEnd(run.status));
  if (atWork.length > 0 || isAtReviewLimit(coder)) return atWork;
  throw new SquadError(
    'REVIEW_OVER',
    `Run ${coder.id} is ${coder.status}: no run of its task is running any more`,
    {
      suggestions: ['`squad worktrees` shows the work that is left.'],
    },
  );
}

async function abandon(call: Call, coder: Run): Promise<ShownWork[]> {
  const { reviews, store } = call.services;
  const atWork = atWorkOn(call.services, coder);
  await reviews.abandon(coder, 'The user abandoned the task.');
  await waitForEnds(call, atWork, ABANDON_TIMEOUT_MS);
  await reviews.untilIdle(coder.lineageId);
  const runs = await store.runs({ lineageId: coder.lineageId, hasWorktree: true, limit: MAX_RUNS });
  const coders = runs.filter(({ reviewOf }) => reviewOf === null);
  // A reply continues in the work tree of the run before, so each work tree is listed once.
  const trees = [...new Map(coders.map(run => [run.worktree?.path, run])).values()];
  const works = await Promise.all(trees.map(run => workOf(call.services, run)));
  return works.filter(work => work !== null);
}

/** Sends comments on lines of a run's changes to the coder: as feedback in the open review, or as a reply. */
export const commentOnRun = operation({
  name: 'comment_on_run',
  route: 'POST /runs/{run}/comments',
  input: z.strictObject({
    run: z.string(),
    comments: z.array(LineComment).min(1).max(200),
    /** Message to send instead of the default introduction. */
    message: z.string().max(MAX_COMMENT_LENGTH).optional(),
    round: Round,
  }),
  output: z.object({
    way: z.enum(['reply', 'feedback']),
    /** The run that gets the comments. */
    runId: RunId,
  }),
  async run(call, { run: given, comments, message, round }) {
    const { services } = call;
    const text = commentsText(comments, message);
    checkTask(text);
    const { way, runId } = await commentTarget(call, await findRun(services, given));
    const coder = await findRun(services, runId);
    await refuseMissingLines(services, coder, comments);
    if (way === 'feedback') {
      const feedback = { feedback: text, type: 'needs_work' as const, priority: null, actionableItems: [] };
      await services.reviews.answer(coder, feedback, round);
      return { way, runId };
    }
    const { asked, workspace } = await replyTo(call, coder, text);
    const { runs } = await startRuns(call, asked, workspace);
    return { way, runId: runs[0]!.run.id };
  },
});

/**
 * Refuses a comment on a line that does not exist: it is a mistake of its author, and the agent could only guess what
 * was meant.
 */
async function refuseMissingLines(
  { workTree, workspaces }: Services,
  { id, directory }: Run,
  comments: readonly LineComment[],
): Promise<void> {
  // A removed work tree is created again for the reply; until then the lines cannot be checked.
  if (!(await workspaces.isThere(directory))) return;
  for (const { path, line, side } of comments) {
    // Lines from before the changes are not checked, because they come from the diff.
    if (side === 'old') continue;
    const lines = await workTree.lineCount(directory, path);
    if (lines !== null && line <= lines) continue;
    throw new SquadError(
      'INVALID_INPUT',
      lines === null
        ? `There is no text file ${path} in the folder of run ${id}`
        : `${path} has ${lines === 1 ? '1 line' : `${lines} lines`} in the folder of run ${id}: there is no line ${line}`,
      { suggestions: [`\`squad diff ${shellWord(id)}\` shows files and lines. Nothing was sent.`] },
    );
  }
}

/**
 * Finds out how comments reach the coder, and which run gets them. Throws RUN_NOT_OVER if they cannot reach it now.
 */
export async function commentTarget(
  { services }: Pick<Call, 'services'>,
  run: Run,
): Promise<{ way: 'reply' | 'feedback'; runId: RunId }> {
  // Comments on a reviewer's run go to the coder, whose work it shows.
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
