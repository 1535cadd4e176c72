import type { TurnInput } from '../../core/ports/engine.ts';
import type { Command } from '../../core/ports/turns.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { oneArgument, partOfArgument } from '../one-argument.ts';
import { advisory, policyRules } from '../policy-rules.ts';

/**
 * Based on Cursor's documentation only. Cursor reads MCP servers only from files of the project or the user, which
 * Squad must not change, so its agents have no Squad server. Without --approve-mcps the user's own servers are not
 * called either.
 */
export async function cursorCommand(input: TurnInput, { program }: { program: string }): Promise<Command> {
  const { options, model, chatId, continues } = input;
  return {
    argv: [
      program,
      ...['--print', '--output-format', 'stream-json', '--trust'],
      ...FLAGS[options.permission],
      ...(model === null ? [] : [`--model=${partOfArgument('model', model)}`]),
      ...(continues && chatId !== null ? ['--resume', oneArgument('chat id', chatId)] : []),
    ],
    stdin: input.promptFile,
    env: input.env,
  };
}

/** Without --force Cursor only proposes changes, and nobody could accept them. */
const FLAGS = {
  read: ['--mode', 'ask'],
  edit: ['--force'],
  full: ['--force', '--sandbox', 'disabled'],
} as const;

export function cursorPolicy(options: RunOptions): PolicyRule[] {
  const rules = policyRules(options, {
    read: advisory('ask mode, by its documentation; never tried by Squad'),
    edit: advisory("Cursor Agent's own sandbox, where it has one, is all that keeps it in its folder"),
    tools: advisory('Cursor Agent has no flag for it'),
    budget: advisory('cannot be checked: Cursor Agent does not report what it used'),
    schema: advisory('Cursor Agent has no schema flag; Squad checks the answer'),
    effort: advisory('Cursor Agent has no flag for it; it is part of the name of a model'),
  });
  if (options.spawn)
    rules.push({
      rule: 'spawn',
      ...advisory(
        "Squad's tools cannot be given to Cursor Agent without writing into the project, so it has none",
      ),
    });
  return rules;
}
