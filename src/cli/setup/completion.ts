import type { Argument, Command, Option } from 'commander';
import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { CLI_IDS } from '../../schema/engine-spec.ts';
import { runSummary, type ShownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { VIEWS } from '../../schema/web-ui.ts';
import { projectNames } from '../../workspace/settings/open-workspace.ts';
import { workspaceRoot } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { type OwnCommand, ownCommand } from '../own-command.ts';
import { shippedRoles } from '../package-files.ts';
import { CONFIG_KEYS } from '../settings/config.ts';
import { printJson } from '../terminal/json.ts';
import { statusText } from '../terminal/status-text.ts';
import { CLIENT_NAMES } from './install/clients.ts';

const MAX_IDS = 50;
/** Short timeout, because the user is typing. */
const HUB_TIMEOUT_MS = 1_000;

/** Words that depend on the project, read from its files, so that no hub has to be started. */
async function projectCandidates(kind: 'role' | 'engine'): Promise<Candidate[]> {
  const home = homeFolder(process.env);
  const { roles, engines } = await projectNames({
    ...{ workspace: workspaceRoot(undefined), home, env: process.env, shippedRoles },
  });
  if (kind === 'engine')
    return [
      ...CLI_IDS.map(word => ({ word, what: 'agent CLI' })),
      { word: 'native', what: 'a model by API key' },
      { word: 'scripted', what: 'a dry run without a model' },
      ...engines.map(word => ({ word, what: 'your own' })),
    ];
  return roles.map(({ id, description }) => ({ word: id, what: visibleLine(description) }));
}

/** Ids of the newest runs or of open questions, or names of machines, from a running hub; starts none. */
async function knownIds(ids: NonNullable<CompletionRequest['ids']>): Promise<Candidate[]> {
  const client = await HubClient.findOnly(HUB_TIMEOUT_MS);
  if (!client) return [];
  const timeout = setTimeout(() => client.close(), HUB_TIMEOUT_MS);
  try {
    if (ids === 'item') return await openItems(client);
    if (ids === 'machine') return await knownMachines(client);
    const { runs } = await client.call('list_runs', { limit: MAX_IDS });
    const squads = ids === 'any' ? [...new Set(runs.map(({ squadId }) => squadId))] : [];
    return [
      ...runs.map(run => ({ word: run.id, what: describeRun(run) })),
      ...squads.map(word => ({ word, what: 'squad' })),
    ];
  } finally {
    clearTimeout(timeout);
    client.close();
  }
}

async function openItems(client: HubClient): Promise<Candidate[]> {
  const { items } = await client.call('list_inbox', { state: 'open', limit: MAX_IDS });
  return items.map(({ id, run, question }) => ({ word: id, what: visibleLine(`${run.name}: ${question}`) }));
}

async function knownMachines(client: HubClient): Promise<Candidate[]> {
  const { machines } = await client.call('list_machines', {});
  return machines.map(({ machine, state }) => ({
    word: machine.name,
    what: visibleLine(`${state}, ${machine.address}`),
  }));
}

const describeRun = (run: ShownRun): string =>
  visibleLine(`${statusText(shownStatus(run))}, ${runName(run)}: ${runSummary(run)}`);

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Script that a shell evaluates to complete `squad`. It starts this program by its path, because `squad` may be an
 * alias, and calls it for each word, so that there is no second list of commands to maintain.
 */
const shellScript = (shell: Shell, program: readonly string[]): string =>
  SCRIPTS[shell](`${program.map(shellWord).join(' ')} complete --`, completedNames(ownCommand()));

/** The command names `squad` and `squad-mcp`, without a name that belongs to another program. */
const completedNames = ({ other }: OwnCommand): string[] =>
  other === null ? ['squad', 'squad-mcp'] : ['squad-mcp'];

const SCRIPTS: Record<Shell, (ask: string, names: string[]) => string> = {
  bash: (ask, names) => `_squad_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _squad_complete ${names.join(' ')}
`,
  zsh: (ask, names) => `_squad_complete() {
  local -a found
  local line
  for line in "\${(@f)$(${ask} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  if (( $#found )); then _describe squad found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit; compinit; }
compdef _squad_complete ${names.join(' ')}
`,
  fish: (ask, names) => `function __squad_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (${ask} $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
${names.map(name => `complete -c ${name} -f -a '(__squad_complete)'\n`).join('')}`,
};

interface Candidate {
  word: string;
  what: string;
}

/** Candidates at the cursor: words of the command line, and ids that only the hub knows. */
interface CompletionRequest {
  words: Candidate[];
  /** Kind of ids: of runs (`run`), of runs and squads (`any`), of open questions (`item`), or names of machines (`machine`). */
  ids: 'run' | 'any' | 'item' | 'machine' | null;
  /** Kind of names that the project defines. */
  names?: 'role' | 'engine';
}

const NOTHING: CompletionRequest = { words: [], ids: null };

/** Finds the candidates in the commands. `given`: the words after `squad`, the last one possibly incomplete. */
export function completionRequest(program: Command, given: readonly string[]): CompletionRequest {
  // Bash splits `--type=x` into three words.
  const words = given.filter(word => word !== '=');
  const current = words.at(-1) ?? '';
  let command = program;
  let place = 0;
  let awaited: Option | null = null;
  for (const word of words.slice(0, -1)) {
    if (awaited) awaited = null;
    else if (word.startsWith('-') && word !== '-') awaited = optionWithValue(command, word);
    else if (place === 0 && word === 'help') continue;
    else {
      const inner =
        place === 0
          ? command.commands.find(each => each.name() === word || each.aliases().includes(word))
          : undefined;
      if (inner) command = inner;
      else place++;
    }
  }
  if (awaited) return valuesOf(awaited, command);
  if (current.startsWith('-')) return { words: optionsOf(command), ids: null };
  const below = place === 0 ? commandsOf(command) : [];
  const { words: values, ...rest } =
    command.name() === 'run' && place % 2 === 1 ? NOTHING : valuesOf(argumentAt(command, place), command);
  return { words: [...below, ...values], ...rest };
}

const optionWithValue = ({ options }: Command, word: string): Option | null =>
  options.find(option => (option.short === word || option.long === word) && option.required) ?? null;

function argumentAt({ registeredArguments }: Command, place: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[place] ?? (last?.variadic ? last : undefined);
}

/** The name of an argument decides which ids or names it accepts. */
function valuesOf(argument: Argument | Option | undefined, command: Command): CompletionRequest {
  if (!argument) return NOTHING;
  if (argument.argChoices) return { words: candidatesOf(argument.argChoices), ids: null };
  const name = argument.name();
  if (name === 'run' || name === 'runs') return { words: [], ids: 'run' };
  if (name === 'item') return { words: [], ids: 'item' };
  if (MACHINES.includes(name)) return { words: [], ids: 'machine' };
  if (name === 'engine') return { words: [], ids: null, names: 'engine' };
  if (isRole(argument) || (name === 'task' && command.name() === 'run'))
    return { words: [], ids: null, names: 'role' };
  if (name === 'client') return { words: candidatesOf(CLIENT_NAMES), ids: null };
  if (name === 'key') return { words: candidatesOf(CONFIG_KEYS), ids: null };
  if (name === 'target') return { words: candidatesOf(VIEWS), ids: 'any' };
  return { words: [], ids: name === 'id' || name === 'ids' ? 'any' : null };
}

/** Matches `<machine>`, `[machines...]` and `--on <machine>`. */
const MACHINES = ['machine', 'machines', 'on'];

const ROLES = ['role', 'only'];
/** Matches `[role]`, `--role <id>` and `--only <role>`. */
const isRole = (argument: Argument | Option): boolean => ROLES.includes(argument.name());

const candidatesOf = (words: readonly string[]): Candidate[] => words.map(word => ({ word, what: '' }));

const commandsOf = (command: Command): Candidate[] =>
  command.commands.length === 0
    ? []
    : command
        .createHelp()
        .visibleCommands(command)
        .map(each => ({ word: each.name(), what: each.description() }));

const optionsOf = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ short, long, description }) =>
      [long, short].flatMap(word => (word ? [{ word, what: description }] : [])),
    );

/** `squad completion SHELL`: prints a completion script. */
export async function completionCommand(shell: Shell, context: CliContext): Promise<number> {
  const script = shellScript(shell, [process.execPath, process.argv[1]!]);
  if (context.json) printJson(context.out, { shell, script });
  else context.out.write(script);
  return EXIT.done;
}

/** `squad complete -- WORDS`: prints completions of the last word, one per line, with a description after a tab. */
export async function completeCommand(
  program: Command,
  words: string[],
  context: CliContext,
): Promise<number> {
  const request = completionRequest(program, words);
  // Errors of the hub must not appear while the user is typing.
  const ids = request.ids === null ? [] : await knownIds(request.ids).catch(() => []);
  const names = request.names === undefined ? [] : await projectCandidates(request.names).catch(() => []);
  const prefix = words.at(-1) ?? '';
  const found = [...request.words, ...names, ...ids].filter(({ word }) => word.startsWith(prefix));
  print(
    context,
    found.map(({ word, what }) => (what === '' ? word : `${word}\t${what}`)),
  );
  return EXIT.done;
}
