import { visibleLine, visibleText } from '../../base/text.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import type { FeedbackType } from '../../schema/review.ts';
import { type RunStatus, runSummary } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { readInput, wholeNumber, workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { showDiff } from '../evidence/diff.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { formatDateTime } from '../terminal/duration.ts';
import { hiddenWarningLines } from '../terminal/hidden-warning.ts';
import { printJson } from '../terminal/json.ts';
import { paintStatus, statusText } from '../terminal/status-text.ts';
import { createStyle } from '../terminal/style.ts';
import { wrap } from '../terminal/width.ts';
import { outcomeWord, reviewTable } from './review-table.ts';

type Listed = Output<'list_reviews'>;
type Shown = Output<'show_review'>;
type Steered = Output<'steer_review'>;

interface ReviewOptions {
  all?: boolean;
  limit?: string;
  diff?: boolean;
  allow?: string;
  abandon?: boolean;
  cancel?: boolean;
  feedback?: string;
  type?: string;
  priority?: string;
}

/** `squad review [RUN]`: the reviews there were, or those of one task; with an option, what a person decides about it. */
export async function reviewCommand(
  run: string | undefined,
  options: ReviewOptions,
  context: CliContext,
): Promise<number> {
  const decision = await decided(run, options);
  if (options.diff) return reviewDiff(run, options, context);
  const most = wholeNumber('--limit', options.limit ?? '20', 1, 1000);
  const client = await HubClient.start({ workspace: context.workspace });
  try {
    if (decision) {
      const steered = await client.call('steer_review', decision);
      if (context.json) printJson(context.out, steered);
      else print(context, after(steered, decision.action, context));
    } else if (run !== undefined) {
      const shown = await client.call('show_review', { run });
      if (context.json) printJson(context.out, shown);
      else print(context, whole(shown, context));
    } else {
      const workspace = options.all ? undefined : workspaceRoot(context.workspace);
      const listed = await client.call('list_reviews', { workspace, limit: most });
      if (context.json) printJson(context.out, listed);
      else print(context, list(listed, context));
    }
    return EXIT.done;
  } finally {
    client.close();
  }
}

/** The last round against the one before it. The diff goes to standard output, words about it to standard error. */
async function reviewDiff(
  run: string | undefined,
  { allow, abandon, cancel, feedback }: ReviewOptions,
  context: CliContext,
): Promise<number> {
  if (run === undefined || allow !== undefined || abandon || cancel || feedback !== undefined)
    throw new SquadError('INVALID_INPUT', '--diff only shows something, of one run', {
      suggestions: ['squad review RUN --diff'],
    });
  const client = await HubClient.start({ workspace: context.workspace });
  try {
    const shown = await client.call('show_review', { run });
    const last = shown.reviews.at(-1);
    if (!last)
      throw new SquadError('DIFF_UNAVAILABLE', `No review of ${shown.run.id} was asked for yet`, {
        suggestions: [`squad diff ${shellWord(shown.run.id)}`],
      });
    const diff = await client.call('diff_review', { review: last.id });
    if (context.json) printJson(context.out, { review: last.id, iteration: last.iteration, ...diff });
    else {
      showDiff(diff.text, context);
      const { dim } = createStyle(context.err.color);
      const remarks = [
        ...(diff.text === '' ? ['Nothing changed.'] : []),
        ...(diff.isTruncated ? ['The diff is longer than this.'] : []),
        ...diff.notes.map(note => `Round ${last.iteration}: ${note}.`),
      ];
      for (const line of remarks) context.err.write(`${dim(visibleLine(line))}\n`);
    }
    return EXIT.done;
  } finally {
    client.close();
  }
}

async function decided(
  run: string | undefined,
  options: ReviewOptions,
): Promise<Input<'steer_review'> | null> {
  const { allow, abandon, cancel, feedback, type, priority } = options;
  const asked = [allow !== undefined, abandon === true, cancel === true, feedback !== undefined];
  const count = asked.filter(Boolean).length;
  const wrong = (message: string, suggestion: string) =>
    new SquadError('INVALID_INPUT', message, { suggestions: [suggestion] });
  if (count > 1)
    throw wrong('One thing at a time', 'Give one of --allow, --abandon, --cancel and --feedback.');
  if (count > 0 && run === undefined) throw wrong('Of which run?', `squad review RUN ${asGiven(options)}`);
  if (feedback === undefined && (type !== undefined || priority !== undefined))
    throw wrong(
      '--type and --priority belong to --feedback',
      'squad review RUN --feedback "text" --type approved',
    );
  if (run === undefined) return null;
  if (allow !== undefined) return { run, action: 'allow', rounds: wholeNumber('--allow', allow, 1, 1000) };
  if (abandon) return { run, action: 'abandon' };
  if (cancel) return { run, action: 'cancel' };
  if (feedback === undefined) return null;
  const text = feedback === '-' ? await readInput() : feedback;
  return {
    run,
    action: 'feedback',
    feedback: text,
    // The hub refuses a type that does not exist, and names the others.
    feedback_type: (type ?? 'needs_work') as FeedbackType,
    priority,
  };
}

function asGiven({ allow, cancel, feedback }: ReviewOptions): string {
  if (allow !== undefined) return `--allow ${shellWord(allow)}`;
  if (feedback !== undefined) return '--feedback "text"';
  return cancel ? '--cancel' : '--abandon';
}

function list({ reviews }: Listed, { out, style }: CliContext): string[] {
  if (reviews.length === 0)
    return [
      'No reviews in this workspace yet.',
      style.dim('A coder asks for one by itself: a role with `type: coding` and `isolation: worktree`.'),
    ];
  return reviewTable(reviews, { withCoder: true, now: Date.now() }, out.columns, style);
}

function whole({ run, rounds, reviews }: Shown, { out, style }: CliContext): string[] {
  const head = [
    `${style.bold(run.id)}  ${paintStatus(shownStatus(run), statusText(shownStatus(run)), style)}  ${visibleLine(runSummary(run))}`,
    `${rounds.current} of ${rounds.max} reviews · ${rounds.sentBack} sent back, ${rounds.failed} failed; given up at ${rounds.abandonAfter} of these`,
  ];
  if (reviews.length === 0) return [...head, '', 'No review was asked for yet.'];
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
            ` ${outcomeWord(last.outcome, style)}`,
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

function after(
  { run, status, rounds, commit, work }: Steered,
  action: Input<'steer_review'>['action'],
  { style }: CliContext,
): string[] {
  const state = paintStatus(status as RunStatus, statusText(status as RunStatus), style);
  const done = {
    allow: `may have ${rounds.max} reviews now; it has had ${rounds.current}`,
    abandon: 'its task was given up; its work is kept',
    cancel: 'its review was ended; it is told with its next turn',
    feedback: `has the feedback${commit === undefined ? '' : ` (commit ${commit.slice(0, 12)})`}; its next turn begins with it`,
  }[action];
  return [
    `${run}  ${state}  ${done}`,
    ...(work ?? []).flatMap(({ branch, saved }) => [
      `  ${style.dim('branch')}  ${visibleLine(branch)}`,
      ...saved.map(ref => `  ${style.dim('saved')}   ${ref}  ${style.dim('what was not committed')}`),
    ]),
  ];
}

type Sent = Output<'comment_on_run'>;

/** `squad comment RUN FILE:LINE "words" …`: comments on lines of its changes, sent to the agent as one message. */
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
  if (context.json) printJson(context.out, sent);
  else
    print(context, [
      told(sent, comments.length),
      `  squad log -f ${shellWord(sent.runId)}   what it does with them`,
    ]);
  return EXIT.done;
}

function told({ way, runId }: Sent, count: number): string {
  const what = count === 1 ? 'your comment' : `your ${count} comments`;
  return way === 'reply'
    ? `${runId} was started and begins with ${what}`
    : `The review was ended; ${runId} goes on with ${what}`;
}

function commentsIn(words: string[]): Input<'comment_on_run'>['comments'] {
  const usage = 'squad comment RUN FILE:LINE "words" [FILE:LINE "words" …]';
  if (words.length % 2 !== 0)
    throw new SquadError('INVALID_INPUT', `${visibleLine(words.at(-1)!)} has no words after it`, {
      suggestions: [usage],
    });
  return Array.from({ length: words.length / 2 }, (_, i) => {
    const [place, text] = [words[2 * i]!, words[2 * i + 1]!];
    const [, path, line] = /^(.+):([1-9]\d{0,8})$/s.exec(place) ?? [];
    if (path === undefined || line === undefined)
      throw new SquadError('INVALID_INPUT', `${visibleLine(place)} is no FILE:LINE`, {
        suggestions: [usage],
      });
    if (text.trim() === '')
      throw new SquadError('INVALID_INPUT', `The comment on ${visibleLine(place)} is empty`, {
        suggestions: [usage],
      });
    return { path, line: Number(line), side: 'new' as const, text };
  });
}
