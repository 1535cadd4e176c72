import { createInterface } from 'node:readline/promises';
import { visibleLine } from '../base/visible-text.ts';
import { SquadError } from '../schema/error.ts';
import type { CliContext } from './context.ts';

/** Asks a person; where there is none, says how to decide beforehand. */
export async function agreed(
  question: string,
  withoutPerson: string,
  { out, json }: CliContext,
): Promise<boolean> {
  if (json || !process.stdin.isTTY || !out.isTTY)
    throw new SquadError('ANSWER_NEEDED', `This needs a yes, and nobody is at the terminal: ${question}`, {
      suggestions: [withoutPerson],
    });
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await asking.question(`${visibleLine(question)} [y/N] `).finally(() => asking.close());
  return /^y(es)?$/i.test(answer.trim());
}
