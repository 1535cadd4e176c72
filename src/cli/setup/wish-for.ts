import type { Argument, Command, Option } from 'commander';

export interface Candidate {
  word: string;
  what: string;
}

/** What may stand where the cursor is: words of the command line itself, and ids that only the hub knows. */
export interface Wish {
  words: Candidate[];
  /** `run`: of runs; `any`: of runs and squads; `item`: of open questions. */
  ids: 'run' | 'any' | 'item' | null;
}

const NOTHING: Wish = { words: [], ids: null };

/** By the table of commands. `given`: the words after `squad`, the last of them as far as it is typed. */
export function wishFor(program: Command, given: readonly string[]): Wish {
  // Bash takes `--type=x` for three words.
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
      const inner = place === 0 ? command.commands.find(each => each.name() === word) : undefined;
      if (inner) command = inner;
      else place++;
    }
  }
  if (awaited) return valuesOf(awaited);
  if (current.startsWith('-')) return { words: optionsOf(command), ids: null };
  const below = place === 0 ? commandsOf(command) : [];
  const { words: values, ids } = valuesOf(argumentAt(command, place));
  return { words: [...below, ...values], ids };
}

const optionWithValue = ({ options }: Command, word: string): Option | null =>
  options.find(option => (option.short === word || option.long === word) && option.required) ?? null;

function argumentAt({ registeredArguments }: Command, place: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[place] ?? (last?.variadic ? last : undefined);
}

/** What it is called in the table says whose ids it takes. */
function valuesOf(taker: Argument | Option | undefined): Wish {
  if (!taker) return NOTHING;
  if (taker.argChoices) return { words: taker.argChoices.map(word => ({ word, what: '' })), ids: null };
  const name = taker.name();
  if (name === 'run' || name === 'runs') return { words: [], ids: 'run' };
  if (name === 'item') return { words: [], ids: 'item' };
  return { words: [], ids: name === 'id' || name === 'ids' ? 'any' : null };
}

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
