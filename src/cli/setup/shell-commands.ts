import { Argument, type Command } from 'commander';
import type { CommandMaker } from '../command-maker.ts';
import { openContext } from '../context.ts';
import { completeCommand, completionCommand } from './complete.ts';
import { SHELLS, type Shell } from './shell-scripts.ts';

/** What a shell needs to complete commands, options and ids. */
export function addShellCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'completion', 'what makes your shell complete squad: eval "$(squad completion bash)"')
    .addArgument(new Argument('<shell>', 'whose it is').choices(SHELLS))
    .action(does((context, shell: Shell) => completionCommand(shell, context)));
  program
    .command('complete [words...]', { hidden: true })
    .exitOverride()
    .action(async (words: string[]) => void (await completeCommand(program, words, openContext({}))));
}
