import { Command, CommanderError } from 'commander';
import { nearest, visibleLine } from '../base/text.ts';
import { version } from '../link/program.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import { commandMaker, examples } from './arguments.ts';
import { reportError } from './context.ts';
import { addConversationCommands } from './conversations/commands.ts';
import { EXIT } from './exit-codes.ts';
import { addMcpCommands } from './gateway/commands.ts';
import { addHubCommands } from './hub/commands.ts';
import { addMachineCommands } from './machines/commands.ts';
import { guideUrl, ownCommand, withOwnCommand } from './own-command.ts';
import { addWorkCommands } from './review/commands.ts';
import { addRunCommands, addWatchCommands } from './runs/commands.ts';
import { addSettingsCommands, addTeamCommands } from './settings/commands.ts';
import { addSetupCommands } from './setup/commands.ts';
import { SHELLS } from './setup/completion.ts';
import { CLIENT_NAMES } from './setup/install/clients.ts';

const FOOTER = `${examples(
  'squad run "Fix the failing test"   start an agent here and watch it',
  'squad                              what is running, what needs you',
  'squad diff RUN, squad integrate    look at the work, merge it',
)}

Exit codes:
  0 success · 1 a run did not complete, or an operation failed · 2 usage error
  3 an answer is needed · 4 a limit was reached · 124 \`squad wait\` timed out
  130 interrupted

Aliases: ps, list (ls) · logs (log) · stop (cancel)
Every command except \`squad mcp\` takes --json.
Guides and reference: ${guideUrl('')}`;

/** Runs the command line. Returns the exit code. Never throws. */
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
  program.commandsGroup('Watch commands:');
  addWatchCommands(program, maker);
  addConversationCommands(program, maker);
  program.commandsGroup('Review and merge commands:');
  addWorkCommands(program, maker);
  program.commandsGroup('Team commands:');
  addTeamCommands(program, maker);
  program.commandsGroup('Setup commands:');
  addSettingsCommands(program, maker);
  addSetupCommands(program, maker);
  addMcpCommands(program, maker);
  program.commandsGroup('Hub and web UI commands:');
  addHubCommands(program, maker);
  addMachineCommands(program, maker);
  // The help command is registered again, so that it appears in the last group.
  return program.helpCommand('help [command]', 'Show the help of a command');
}

function usageError({ message, code }: CommanderError, program: Command, args: string[]): SquadError {
  const [first = '', second = ''] = args;
  const command = commandNamed(program, first);
  const inner = command && commandNamed(command, second);
  const help = inner ? `${first} help ${second}` : command ? `help ${first}` : 'help';
  // Commander's message has a guess on its second line, such as "(Did you mean log?)".
  const [problem = '', ...guess] = message.replace(/^error: /, '').split('\n');
  const guesses =
    code === 'commander.unknownCommand'
      ? command
        ? guessesOf(second, command)
        : [...taskGuess(args), ...guessesOf(first, program)]
      : guess.map(line => line.replace(/^\((.*)\)$/, '$1'));
  return new SquadError('INVALID_INPUT', visibleLine(problem), {
    suggestions: [
      ...guesses,
      ...(command && command.commands.length > 0 && !inner
        ? [`Subcommands of squad ${first}: ${command.commands.map(each => each.name()).join(', ')}`]
        : []),
      ...missingArgument(problem, inner ?? command, inner ? `${first} ${second}` : first),
      `\`squad ${help}\` shows the usage.`,
    ],
  });
}

const ABOUT_ARGUMENTS: Record<string, string> = {
  ...Object.fromEntries(['run', 'id', 'ids'].map(name => [name, '`squad ls` lists runs and their ids.'])),
  machine: '`squad machines ls` lists machines.',
  client: `Clients: ${CLIENT_NAMES.join(', ')}`,
  shell: `Shells: ${SHELLS.join(', ')}`,
};

/** Suggestion for a command that was given without its argument. */
function missingArgument(problem: string, command: Command | undefined, words: string): string[] {
  const [, name] = /^missing required argument '(.*)'$/.exec(problem) ?? [];
  if (name === undefined || !command) return [];
  const about = ABOUT_ARGUMENTS[name];
  return [`squad ${words} ${command.usage().replace('[options] ', '')}`, ...(about ? [about] : [])];
}

const commandNamed = ({ commands }: Command, name: string): Command | undefined =>
  commands.find(each => each.name() === name || each.aliases().includes(name));

/** Command names of other programs, with the command of Squad that does the same. */
const OTHER_WORDS: Record<string, string> = {
  ...{ start: 'run', new: 'run', spawn: 'run', exec: 'run', ask: 'run', agent: 'run', task: 'run' },
  ...{ kill: 'cancel', abort: 'cancel', rm: 'prune', delete: 'prune', clean: 'prune' },
  ...{ tail: 'log', output: 'log', inspect: 'show', info: 'show', describe: 'show' },
  ...{ merge: 'integrate', apply: 'integrate', questions: 'inbox', approve: 'answer' },
  ...{ agents: 'roles', role: 'roles', engines: 'doctor', check: 'doctor', setup: 'install', add: 'install' },
  ...{ settings: 'config', set: 'config', web: 'open', ui: 'open', dashboard: 'open', serve: 'up' },
};

function guessesOf(wrong: string, { commands }: Command): string[] {
  const names = commands
    .flatMap(each => [each.name(), ...each.aliases()])
    .filter(name => name !== 'complete');
  const others = Object.keys(OTHER_WORDS).filter(word => names.includes(OTHER_WORDS[word]!));
  const found = others.includes(wrong) ? [wrong] : nearest(wrong, [...names, ...others]);
  const near = new Set(found.map(word => (names.includes(word) ? word : OTHER_WORDS[word]!)));
  return near.size === 0 ? [] : [`Did you mean ${[...near].join(' or ')}?`];
}

/** Suggests `squad run` if the first word looks like a task or a role instead of a command. */
const taskGuess = ([first = '', second = '']: string[]): string[] =>
  [first, second].some(word => /\s/.test(word.trim()))
    ? [`To start an agent: squad run ${shellWord(first)}${second === '' ? '' : ` ${shellWord(second)}`}`]
    : [];
