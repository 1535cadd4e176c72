/**
 * The prompt contains a script for the model: `[[mock: {"tag":"a","steps":[{"shell":"echo hi"},{"text":"done"}]}]]`.
 * Which step is next follows from the conversation alone, so any number of agents share one server.
 */
import { z } from 'zod';
import type { Conversation } from './conversation.ts';

const usage = z.strictObject({
  input: z.int().min(0).optional(),
  output: z.int().min(0).optional(),
  cached: z.int().min(0).optional(),
});

const step = z.strictObject({
  /** Alone: the answer. Beside a tool call: what the model says before it. */
  text: z.string().optional(),
  /** Beside anything: what the model thinks first. */
  thinking: z.string().optional(),
  /** An answer of this many bytes. */
  bytes: z.int().min(1).optional(),
  /** Runs a command with whatever tool the CLI has for it. */
  shell: z.string().optional(),
  write: z.strictObject({ path: z.string(), content: z.string() }).optional(),
  /** Calls a tool by its name, or by the end of it: `squad_status` finds `mcp__squad__squad_status`. */
  call: z.string().optional(),
  /** Calls a tool of Squad's server that is not offered, named as the CLI would name it. */
  unlisted: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  /** Calls several tools in one answer. */
  calls: z
    .array(z.strictObject({ call: z.string(), arguments: z.record(z.string(), z.unknown()).optional() }))
    .optional(),
  /** Calls a tool by a name that nobody offered. */
  invented: z.string().optional(),
  /** Beside `call`: its arguments as they are sent, JSON or not. */
  malformed: z.string().optional(),
  /** Answers with this object: through the CLI's own tool for it, else as JSON text. */
  structured: z.record(z.string(), z.unknown()).optional(),
  /** Fails with this HTTP status, every time or only the first `times` requests of this tag and step. */
  status: z.int().min(400).max(599).optional(),
  times: z.int().min(1).optional(),
  /** Beside `status`: the message of the error, and how many seconds the API wants the client to wait. */
  message: z.string().optional(),
  retryAfter: z.int().min(1).optional(),
  /** Beside `status`: when the account's limit is reset, in seconds since 1970, as Anthropic and OpenAI say it. */
  limitedUntil: z.int().min(1).optional(),
  /** Never answers: before the headers, or after them. */
  hang: z.enum(['headers', 'stream']).optional(),
  /** Answers 200 with what no parser can read. */
  garbage: z.literal(true).optional(),
  /** The answer ends early: at the output limit, by the provider's content filter, or because the model refuses. */
  stop: z.enum(['full', 'filtered', 'refused']).optional(),
  /** Breaks off in the middle of its answer: the connection, or the answer alone. */
  cut: z.enum(['connection', 'answer']).optional(),
  usage: usage.optional(),
});

const directive = z.strictObject({ tag: z.string().optional(), steps: z.array(step).min(1) });

export type Step = z.infer<typeof step>;

export interface NextStep {
  tag: string | null;
  number: number;
  step: Step;
  /** The user's message that holds the directive, or the last one. */
  prompt: string;
}

/** The prompt text for a directive. */
export const mock = (steps: Step[], tag?: string) => `[[mock: ${JSON.stringify({ tag, steps })}]]`;

/** The last directive counts; a model without a directive, or at the end of its steps, says `ok`. */
export function nextStep({ turns }: Conversation): NextStep {
  const found = turns.findLastIndex(({ by, text }) => by === 'user' && directivesIn(text).length > 0);
  if (found === -1) {
    const prompt = turns.findLast(({ by }) => by === 'user')?.text ?? '';
    return { tag: null, number: 0, step: { text: 'ok' }, prompt };
  }
  const prompt = turns[found]!.text;
  const { tag = null, steps } = directive.parse(normal(JSON.parse(directivesIn(prompt).at(-1)!)));
  const number = answersIn(turns.slice(found + 1));
  return { tag, number, step: steps[number] ?? { text: 'ok' }, prompt };
}

const normal = (given: unknown) => (Array.isArray(given) ? { steps: given } : given);

/** One answer may take several items (a text, then a call): neighbours count once. */
const answersIn = (turns: Conversation['turns']) =>
  turns.filter(({ by }, index) => by === 'model' && turns[index - 1]?.by !== 'model').length;

const OPEN = '[[mock:';

/** The JSON of each directive. One inside another's strings belongs to the outer one. */
export function directivesIn(text: string): string[] {
  const found: string[] = [];
  let from = text.indexOf(OPEN);
  while (from !== -1) {
    const start = from + OPEN.length;
    const end = endOfJson(text, start);
    if (end !== -1 && text.slice(end).trimStart().startsWith(']]')) found.push(text.slice(start, end));
    from = text.indexOf(OPEN, end === -1 ? start : end);
  }
  return found;
}

function endOfJson(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at]!;
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if ('[{'.includes(character)) depth++;
    else if (']}'.includes(character) && --depth === 0) return at + 1;
    else if (depth < 0) return -1;
  }
  return -1;
}
