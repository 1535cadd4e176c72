import { type Command, Option } from 'commander';
import { type CliContext, openContext } from './context.ts';

/** How every command is made. */
export interface CommandMaker {
  /** A command with the options all of them share. */
  command(parent: Command, name: string, description: string): Command;
  /** Runs the command's work with its context and keeps its exit code. */
  does(
    work: (context: CliContext, ...words: never[]) => Promise<number>,
  ): (this: Command, ...given: unknown[]) => Promise<void>;
}

export function commandMaker(onCode: (code: number) => void): CommandMaker {
  return {
    command: (parent, name, description) =>
      parent
        .command(name)
        .description(description)
        .addOption(new Option('--json', 'machine-readable output'))
        .addOption(new Option('--workspace <dir>', 'work in this folder instead of the current one'))
        .exitOverride(),
    does: work =>
      async function act(this: Command, ...given: unknown[]) {
        onCode(await work(openContext(this.opts()), ...(given.slice(0, -1) as never[])));
      },
  };
}
