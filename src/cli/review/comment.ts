import { visibleLine } from '../../base/visible-text.ts';
import type { Input, Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';

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
