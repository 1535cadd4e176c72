import { visibleLine, visibleText } from '../../base/text.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import type { FeedbackType } from '../../schema/review.ts';
import { type RunStatus, runSummary } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { readInput, workspaceFilter } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, printNotes, printResult } from '../context.ts';
import { showDiff } from '../evidence/diff.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { withOwnCommand } from '../own-command.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { printJson } from '../terminal/json.ts';
import { paintStatus } from '../terminal/status-text.ts';
import { wrap } from '../terminal/width.ts';
import { outcomeText, reviewTable } from './review-table.ts';

type Listed = Output<'list_reviews'>;
type Shown = Output<'show_review'>;
type Steered = Output<'steer_review'>;

export interface ReviewOptions {
  all?: boolean;
  limit: number;
  diff?: boolean;
  allow?: number;
  abandon?: boolean;
  cancel?: boolean;
  feedback?: string;
  type?: string;
  priority?: string;
}

/** `squad review [RUN]`: lists reviews, or shows those of one task; with an option, decides about them. */
export async function reviewCommand(
  run: string | undefined,
  options: ReviewOptions,
  context: CliContext,
): Promise<number> {
  const decision = await decisionFrom(run, options);
  if (options.diff) return reviewDiff(run, decision !== null, context);
  using client = await HubClient.start({ workspace: context.workspace });
  if (decision) {
    const steered = await client.call('steer_review', decision);
    return printResult(context, steered, () => steeredLines(steered, decision.action, context));
  }
  if (run !== undefined) {
    const shown = await client.call('show_review', { run });
    return printResult(context, shown, () => reviewLines(shown, context));
  }
  const { all, limit } = options;
  const listed = await client.call('list_reviews', { ...workspaceFilter(all, context), limit });
  return printResult(context, listed, () => list(listed, context));
}

/** Shows the changes between the last two rounds. The diff goes to standard output, remarks to standard error. */
async function reviewDiff(
  run: string | undefined,
  hasDecision: boolean,
  context: CliContext,
): Promise<number> {
  if (run === undefined || hasDecision)
    throw new SquadError('INVALID_INPUT', '--diff needs a run and no other option', {
      suggestions: ['squad review RUN --diff'],
    });
  using client = await HubClient.start({ workspace: context.workspace });
  const shown = await client.call('show_review', { run });
  const last = shown.reviews.at(-1);
  if (!last)
    throw new SquadError('DIFF_UNAVAILABLE', `${shown.run.id} has no reviews yet`, {
      suggestions: [`\`squad diff ${shellWord(shown.run.id)}\` shows what the run has changed so far.`],
    });
  const diff = await client.call('diff_review', { review: last.id });
  if (context.json) printJson(context.out, { review: last.id, iteration: last.iteration, ...diff });
  else {
    showDiff(diff.text, context);
    const remarks = [
      ...(diff.text === '' ? ['No changes.'] : []),
      ...(diff.isTruncated ? ['The diff is truncated.'] : []),
      ...diff.notes.map(note => `Round ${last.iteration}: ${note}.`),
    ];
    printNotes(context, remarks, 'dim');
  }
  return EXIT.done;
}

async function decisionFrom(
  run: string | undefined,
  options: ReviewOptions,
): Promise<Input<'steer_review'> | null> {
  const { allow, abandon, cancel, feedback, type, priority } = options;
  const asked = [allow !== undefined, abandon === true, cancel === true, feedback !== undefined];
  const count = asked.filter(Boolean).length;
  const usageError = (message: string, suggestion: string) =>
    new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });
  if (count > 1)
    throw usageError(
      'Several decisions given',
      'Use only one of --allow, --abandon, --cancel and --feedback.',
    );
  if (count > 0 && run === undefined)
    throw usageError('No run given', `squad review RUN ${asGiven(options)}`);
  if (feedback === undefined && (type !== undefined || priority !== undefined))
    throw usageError(
      '--type and --priority need --feedback',
      'squad review RUN --feedback "text" --type approved',
    );
  if (run === undefined) return null;
  if (allow !== undefined) return { run, action: 'allow', rounds: allow };
  if (abandon) return { run, action: 'abandon' };
  if (cancel) return { run, action: 'cancel' };
  if (feedback === undefined) return null;
  const text = feedback === '-' ? await readInput() : feedback;
  return {
    run,
    action: 'feedback',
    feedback: text,
    feedback_type: (type ?? 'needs_work') as FeedbackType,
    priority,
  };
}

function asGiven({ allow, cancel, feedback }: ReviewOptions): string {
  if (allow !== undefined) return `--allow ${allow}`;
  if (feedback !== undefined) return '--feedback "text"';
  return cancel ? '--cancel' : '--abandon';
}

function list({ reviews }: Listed, { out, style }: CliContext): string[] {
  if (reviews.length === 0)
    return [
      'No reviews in this workspace yet.',
      style.dim('Agents request one themselves if their role has `type: coding` and `isolation: worktree`.'),
    ];
  return reviewTable(reviews, { withCoder: true, now: Date.now() }, out.columns, style);
}

function reviewLines({ run, rounds, reviews }: Shown, { out, style }: CliContext): string[] {
  const head = [
    `${style.bold(run.id)}  ${paintStatus(shownStatus(run), style)}  ${visibleLine(runSummary(run))}`,
    `${rounds.current} of ${rounds.max} reviews · ${rounds.sentBack} sent back, ${rounds.failed} failed; the task is abandoned after ${rounds.abandonAfter} of these two kinds`,
  ];
  if (reviews.length === 0) return [...head, '', 'No reviews yet.'];
  const isOne = new Set(reviews.map(({ coderId }) => coderId)).size === 1;
  const last = reviews.findLast(({ outcome }) => outcome !== null);
  return [
    ...head,
    '',
    ...reviewTable(reviews, { withCoder: !isOne, now: Date.now() }, out.columns, style),
    ...(last?.outcome && last.feedback !== null
      ? [
          '',
          style.dim(`Round ${last.iteration}, ${formatDateTime(last.closedAt ?? last.requestedAt)}:`) +
            ` ${outcomeText(last.outcome, style)}`,
          ...wrap(visibleText(last.feedback), out.columns),
          ...last.actionableItems.flatMap((item, i) => wrap(`${i + 1}. ${visibleLine(item)}`, out.columns)),
          ...hiddenWarningLines([last.feedback, ...last.actionableItems].join('\n'), 'The feedback', {
            out,
            style,
          }),
        ]
      : []),
  ];
}

function steeredLines(
  { run, status, rounds, commit, work }: Steered,
  action: Input<'steer_review'>['action'],
  { style }: CliContext,
): string[] {
  const state = paintStatus(status as RunStatus, style);
  const done = {
    allow: `may have ${rounds.max} reviews now, ${rounds.current} done`,
    abandon: 'task abandoned, work kept',
    cancel: 'review cancelled; the agent is notified with its next turn',
    feedback: `feedback sent${commit === undefined ? '' : ` (commit ${commit.slice(0, 12)})`}; the coder's next turn starts with the feedback`,
  }[action];
  return [
    `${run}  ${state}  ${done}`,
    ...(work ?? []).flatMap(({ branch, saved }) => [
      `  ${style.dim('branch')}  ${visibleLine(branch)}`,
      ...saved.map(ref => `  ${style.dim('saved')}   ${ref}  ${style.dim('uncommitted changes')}`),
    ]),
  ];
}

/** `squad comment RUN FILE:LINE "TEXT" …`: sends comments on lines of a run's changes to the agent, as one message. */
export async function commentCommand(
  run: string,
  words: string[],
  { message }: { message?: string },
  context: CliContext,
): Promise<number> {
  const comments = commentsIn(words);
  const sent = await HubClient.ask({ workspace: context.workspace }, 'comment_on_run', {
    run,
    comments,
    ...(message !== undefined && { message }),
  });
  const what = comments.length === 1 ? 'your comment' : `your ${comments.length} comments`;
  return printResult(context, sent, () => [
    sent.way === 'reply'
      ? `${sent.runId} was started with ${what}`
      : `The review was cancelled; ${sent.runId} continues with ${what}`,
    withOwnCommand(`  squad log -f ${shellWord(sent.runId)}   follows its output`),
  ]);
}

function commentsIn(words: string[]): Input<'comment_on_run'>['comments'] {
  const usage = 'squad comment RUN FILE:LINE "TEXT" [FILE:LINE "TEXT" …]';
  if (words.length % 2 !== 0)
    throw new SquadError('INVALID_INPUT', `Missing comment text after ${visibleLine(words.at(-1)!)}`, {
      suggestions: [usage],
    });
  return Array.from({ length: words.length / 2 }, (_, i) => {
    const [place, text] = [words[2 * i]!, words[2 * i + 1]!];
    const [, path, line] = /^(.+):([1-9]\d{0,8})$/s.exec(place) ?? [];
    if (path === undefined || line === undefined)
      throw new SquadError('INVALID_INPUT', `${visibleLine(place)} is not FILE:LINE`, {
        suggestions: [usage],
      });
    if (text.trim() === '')
      throw new SquadError('INVALID_INPUT', `The comment on ${visibleLine(place)} is empty`, {
        suggestions: [usage],
      });
    return { path, line: Number(line), side: 'new' as const, text };
  });
}
