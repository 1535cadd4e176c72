import type { Command } from 'commander';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { printJson } from '../terminal/json.ts';
import { knownIds } from './known-ids.ts';
import { type Shell, shellScript } from './shell-scripts.ts';
import { wishFor } from './wish-for.ts';

/** `squad completion SHELL`: what makes a shell complete `squad`. */
export async function completionCommand(shell: Shell, context: CliContext): Promise<number> {
  const script = shellScript(shell, [process.execPath, process.argv[1]!]);
  if (context.json) printJson(context.out, { shell, script });
  else context.out.write(script);
  return EXIT.done;
}

/** `squad complete -- WORDS`: what the last of them may become, a line each, with what it is after a tab. */
export async function completeCommand(
  program: Command,
  words: string[],
  context: CliContext,
): Promise<number> {
  const wish = wishFor(program, words);
  // Whatever is wrong with the hub is not to be told in the middle of somebody's typing.
  const ids = wish.ids === null ? [] : await knownIds(wish.ids).catch(() => []);
  const begun = words.at(-1) ?? '';
  const found = [...wish.words, ...ids].filter(({ word }) => word.startsWith(begun));
  print(
    context,
    found.map(({ word, what }) => (what === '' ? word : `${word}\t${what}`)),
  );
  return EXIT.done;
}
