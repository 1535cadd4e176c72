import type { CliContext } from '../context.ts';
import { readInput } from '../read-input.ts';
import { startAndWatch } from './start-and-watch.ts';

/** `squad reply RUN "text"`: goes on with the chat of a run that has ended. */
export async function replyCommand(
  run: string,
  words: string,
  { detach }: { detach?: boolean },
  context: CliContext,
): Promise<number> {
  const text = words === '-' ? await readInput() : words;
  return startAndWatch({ operation: 'reply_to_run', input: { run, text }, detach }, context);
}
