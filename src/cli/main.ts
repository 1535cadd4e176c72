import { Command, CommanderError } from 'commander';
import { version } from '../link/program.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { commandMaker } from './arguments.ts';
import { reportError } from './context.ts';
import { addConversationCommands } from './conversations/commands.ts';
import { EXIT } from './exit-codes.ts';
import { addMcpCommands } from './gateway/commands.ts';
import { addHubCommands } from './hub/commands.ts';
import { guideUrl, ownCommand, withOwnCommand } from './own-command.ts';
import { addWorkCommands } from './review/commands.ts';
import { addRunCommands } from './runs/commands.ts';
import { addProjectCommands } from './settings/commands.ts';
import { addSetupCommands } from './setup/commands.ts';

const FOOTER = `
Exit codes: 0 success · 1 a run did not complete, or an operation failed · 2 usage error · 3 an answer is needed · 4 a limit was reached · 124 \`squad wait\` timed out · 130 interrupted
Every command except \`squad mcp\` takes --json. Guides and reference: ${guideUrl('')}`;

/** Runs the command line. Returns the exit code; never throws. */
export async function main(argv: string[]): Promise<number> {
  let code: number = EXIT.done;
  const program = createProgram(exit => {
    code = exit;
  });
  try {
    await program.parseAsync(argv);
    return code;
  } catch (thrown) {
    const json = argv.includes('--json');
    if (!(thrown instanceof CommanderError)) return reportError(asSquadError(thrown), json);
    if (thrown.exitCode === 0) return EXIT.done;
    // Commander printed the help of a command that was given without its subcommand.
    if (thrown.code === 'commander.help' && !json) return EXIT.usage;
    return reportError(usageError(thrown, program, argv.slice(2)), json);
  }
}

/** Every command with its options and arguments. */
export function createProgram(onExitCode: (code: number) => void): Command {
  const program = new Command(ownCommand().name)
    .description('Run a team of role-specialised coding agents.')
    .version(version, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show this help')
    .helpCommand('help [command]', 'Show the help of a command')
    .addHelpText('after', FOOTER)
    .configureHelp({ subcommandTerm: command => command.name() })
    .enablePositionalOptions()
    // Errors are printed below, in the same form as every other error.
    .configureOutput({
      outputError: () => {},
      writeOut: text => void process.stdout.write(withOwnCommand(text)),
      writeErr: text => void process.stderr.write(withOwnCommand(text)),
    })
    .exitOverride();

  const maker = commandMaker(onExitCode);
  program.commandsGroup('Run commands:');
  addRunCommands(program, maker);
  addConversationCommands(program, maker);
  program.commandsGroup('Review commands:');
  addWorkCommands(program, maker);
  program.commandsGroup('Project commands:');
  addProjectCommands(program, maker);
  program.commandsGroup('Hub and web UI commands:');
  addHubCommands(program, maker);
  program.commandsGroup('Setup commands:');
  addSetupCommands(program, maker);
  addMcpCommands(program, maker);
  // Again, so that it is listed in the last group; subcommands keep the first one.
  return program.helpCommand('help [command]', 'Show the help of a command');
}

function usageError({ message }: CommanderError, program: Command, args: string[]): SquadError {
  const [first, second] = args;
  const command = program.commands.find(each => each.name() === first);
  const inner = command?.commands.find(each => each.name() === second);
  const help = inner ? `${first} help ${second}` : command ? `help ${first}` : 'help';
  // Commander's second line is a guess: "(Did you mean log?)".
  const [problem = '', ...guess] = message.replace(/^error: /, '').split('\n');
  return new SquadError('INVALID_INPUT', problem, {
    suggestions: [
      ...guess.map(line => line.replace(/^\((.*)\)$/, '$1')),
      ...(command && command.commands.length > 0 && !inner
        ? [`Subcommands of squad ${first}: ${command.commands.map(each => each.name()).join(', ')}`]
        : []),
      `squad ${help}   shows the usage`,
    ],
  });
}
