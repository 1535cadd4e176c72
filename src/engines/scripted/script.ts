import { SquadError } from '../../schema/error.ts';

/**
 * Verbs of a script. The argument of a verb is the rest of its line. Lines that start with `|` add text to the verb
 * above.
 */
const VERBS = {
  say: 'words to the reader',
  report: 'the final answer (otherwise: everything said)',
  write: 'a file, its content in the | lines below',
  append: 'to a file, likewise',
  run: 'a shell command; the agent fails if it fails',
  try: 'a shell command; the agent goes on if it fails',
  call: "one of Squad's own tools, as TOOL or TOOL {json}",
  insist: 'like call, asked again while Squad is not there (up to a minute)',
  ask: 'a person: a question, or "question" and choices; says the answer',
  follow: 'the steps in a file, as if they stood here',
  sleep: 'for a while: 200ms, 3s, 2m',
  await: 'a file to appear (up to a minute)',
  flood: 'this much output: 10MB, 1GB',
  stderr: 'words on standard error',
  usage: 'INPUT OUTPUT [CACHED] tokens and [COST] dollars to report',
  leave: 'a shell command running in a session of its own when the agent ends',
  deafen: 'ignore SIGTERM from here on',
  fail: 'end as failed, with this message',
  limit: 'end at a usage limit, with what is said about its reset: try again in 20s',
  exit: 'end at once with this exit code, saying nothing',
  hang: 'for ever',
  replay: 'a recorded output file, at its own pace',
} as const;

export type Verb = keyof typeof VERBS;

export interface Step {
  verb: Verb;
  /** Text on the line after the verb. */
  rest: string;
  /** The lines starting with `|` below the verb, joined. */
  body: string;
}

/** Checks of the text after each verb, done before the agent starts. */
const NEEDS: Partial<Record<Verb, (rest: string) => string | null>> = {
  sleep: asQuantity,
  flood: asQuantity,
  usage: rest => (/^\d+ \d+( \d+( \d+(\.\d+)?)?)?$/.test(rest) ? null : 'needs INPUT OUTPUT [CACHED [COST]]'),
  exit: rest => (/^\d{1,3}$/.test(rest) && Number(rest) <= 255 ? null : 'needs an exit code from 0 to 255'),
  call: asCall,
  insist: asCall,
  ...Object.fromEntries(
    (['write', 'append', 'run', 'try', 'follow', 'await', 'leave', 'replay', 'ask'] as const).map(verb => [
      verb,
      (rest: string) => (rest === '' ? 'needs something after it' : null),
    ]),
  ),
};

const OPENING = /^```script(?: turn \d+)?[ \t]*$/gm;
const FENCE = /^```script(?: turn (\d+))?[ \t]*\r?\n([\s\S]*?)^```[ \t]*$/gm;

/**
 * Steps of the last ```script block of a prompt. The last one counts, because the task comes after the role. Null if
 * there is none.
 */
export const scriptIn = (prompt: string): Step[] | null => lastBlock(prompt, undefined);

/**
 * Steps of the newest turn of a chat. At turn N, a block ```script turn N in any prompt of the chat is used. If there
 * is none, the plain block of the newest prompt is used.
 */
export function scriptForTurn(prompts: readonly string[]): Step[] | null {
  const turn = String(prompts.length);
  const named = prompts.map(prompt => lastBlock(prompt, turn)).findLast(steps => steps !== null);
  return named ?? scriptIn(prompts.at(-1) ?? '');
}

function lastBlock(prompt: string, turn: string | undefined): Step[] | null {
  const blocks = [...prompt.matchAll(FENCE)];
  if ([...prompt.matchAll(OPENING)].length > blocks.length)
    throw new SquadError('SCRIPT_INVALID', 'A ```script block is never closed', {
      suggestions: ['End it with a line of three backticks.'],
    });
  const block = blocks.findLast(([, number]) => number === turn)?.[2];
  return block === undefined ? null : parseScript(block);
}

export function parseScript(text: string): Step[] {
  const steps: Step[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    if (line.startsWith('|')) {
      const step = steps.at(-1);
      if (!step) throw invalid(index, 'a | line needs a verb above it');
      step.body += `${line.slice(1).replace(/^ /, '')}\n`;
      return;
    }
    const [, verb = '', rest = ''] = /^\s*(\S+)\s?(.*)$/.exec(line) ?? [];
    if (!Object.hasOwn(VERBS, verb)) throw invalid(index, `there is no verb "${verb}"`);
    const wrong = NEEDS[verb as Verb]?.(rest.trim());
    if (wrong) throw invalid(index, `${verb} ${wrong}`);
    steps.push({ verb: verb as Verb, rest: rest.trim(), body: '' });
  });
  return steps;
}

function invalid(index: number, why: string): SquadError {
  return new SquadError('SCRIPT_INVALID', `Line ${index + 1} of the script: ${why}`, {
    suggestions: [`The verbs are ${Object.keys(VERBS).join(', ')}.`],
  });
}

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
  b: 1,
};

/** Parses a quantity: `3s` to milliseconds, `10MB` to bytes. */
export function quantity(text: string): number {
  const [, amount, unit] = /^([\d.]+)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const factor = UNITS[(unit || 'ms').toLowerCase()];
  if (amount === undefined || factor === undefined)
    throw new SquadError('SCRIPT_INVALID', `"${text}" is not a duration or a size`, {
      suggestions: ['Write 200ms, 3s, 10MB.'],
    });
  return Number(amount) * factor;
}

function asQuantity(text: string): string | null {
  try {
    quantity(text);
    return null;
  } catch {
    return 'needs a duration or a size: 200ms, 3s, 10MB';
  }
}

/** Parses `TOOL {json}`. The arguments may be omitted. */
export function toolCall(text: string): { tool: string; args: Record<string, unknown> } {
  const [, tool = '', json = ''] = /^(\S*)\s*(.*)$/s.exec(text) ?? [];
  const args = json === '' ? {} : JSON.parse(json);
  if (tool === '' || typeof args !== 'object' || args === null || Array.isArray(args))
    throw new SyntaxError();
  return { tool, args };
}

function asCall(text: string): string | null {
  try {
    toolCall(text);
    return null;
  } catch {
    return 'needs a tool and, if it takes any, its arguments as a JSON object';
  }
}
