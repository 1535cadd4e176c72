import { Command, CommanderError } from 'commander';
import { version } from '../link/program.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { commandMaker } from './arguments.ts';
import { addConversationCommands } from './conversations/commands.ts';
import { EXIT, reportError } from './exit-codes.ts';
import { addMcpCommands } from './gateway/commands.ts';
import { addHubCommands } from './hub/commands.ts';
import { addWorkCommands } from './review/commands.ts';
import { addRunCommands } from './runs/commands.ts';
import { addProjectCommands } from './settings/commands.ts';
import { addShellCommands } from './setup/completion.ts';

const EXIT_CODES = `
Exit codes: 0 done · 1 a run did not complete, or the machine refused · 2 wrong use · 3 needs an answer · 4 a limit · 124 not over in time (squad wait) · 130 interrupted
Every command but mcp alone takes --json. Guides and reference: README.md and docs/.`;

/** The whole command line. Returns the exit code; never throws. */
export async function main(argv: string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = new Command('squad')
    .description('Run a team of role-specialised coding agents.')
    .version(version, '-V, --version')
    .addHelpText('after', EXIT_CODES)
    .configureHelp({ showGlobalOptions: true })
    .enablePositionalOptions()
    // What it would say is said below, in the form of every other error.
    .configureOutput({ outputError: () => {} })
    .exitOverride();

  const maker = commandMaker(exit => {
    code = exit;
  });
  addRunCommands(program, maker);
  addConversationCommands(program, maker);
  addWorkCommands(program, maker);
  addProjectCommands(program, maker);
  addHubCommands(program, maker);
  addMcpCommands(program, maker);
  addShellCommands(program, maker);

  try {
    await program.parseAsync(argv);
    return code;
  } catch (thrown) {
    const json = argv.includes('--json');
    if (!(thrown instanceof CommanderError)) return reportError(asSquadError(thrown), json);
    if (thrown.exitCode === 0) return EXIT.done;
    // It has shown its help instead.
    if (thrown.code === 'commander.help' && !json) return EXIT.usage;
    return reportError(wrongUse(thrown, program, argv.slice(2)), json);
  }
}

function wrongUse({ message }: CommanderError, program: Command, words: string[]): SquadError {
  const [first, second] = words;
  const command = program.commands.find(each => each.name() === first);
  const inner = command?.commands.find(each => each.name() === second);
  const help = inner ? `${first} help ${second}` : command ? `help ${first}` : 'help';
  // Its own second line guesses what was meant.
  const [what = '', ...guess] = message.replace(/^error: /, '').split('\n');
  return new SquadError('INVALID_INPUT', what, {
    suggestions: [
      ...guess.map(line => line.replace(/^\((.*)\)$/, '$1')),
      ...(command && command.commands.length > 0 && !inner
        ? [`squad ${first} knows: ${command.commands.map(each => each.name()).join(', ')}`]
        : []),
      `squad ${help}   says what it takes`,
    ],
  });
}
