import {
  type AssistantModelMessage,
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  tool,
  type Warning,
} from 'ai';
import { isObject } from '../base/json.ts';
import { formatBytes } from '../base/text.ts';
import { CutOff, ModelFailure } from './ending.ts';
import type { Generation } from './generation.ts';
import { MAX_TEXT_BYTES, type Say } from './output-lines.ts';
import type { MakeModel } from './providers/provider.ts';
import type { OfferedTool } from './tool.ts';

/** Enough to be read as it comes. A line that goes on is passed on by its words, so that none is parted. */
const LONG = 64 * 1024;

/** Gathers words as they come and passes them on a line, or several, at a time. */
export class TextPieces {
  readonly #pass: (text: string) => void;
  #held = '';

  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  add(text: string): void {
    const end = text.lastIndexOf('\n');
    const cut = end === -1 && this.#held.length >= LONG ? text.lastIndexOf(' ') : end;
    if (cut === -1) {
      this.#held += text;
      return;
    }
    this.#send(this.#held + text.slice(0, cut));
    this.#held = text.slice(cut + 1);
  }

  end(): void {
    this.#send(this.#held);
    this.#held = '';
  }

  #send(text: string): void {
    if (text.trim() !== '') this.#pass(text);
  }
}

/** A call the model made. `problem`: why it is none that could be run. */
export interface ModelCall {
  id: string;
  name: string;
  input: unknown;
  problem: string | null;
}

export interface ModelTurn {
  text: string;
  message: AssistantModelMessage | null;
  calls: ModelCall[];
  usage: LanguageModelUsage;
}

export interface ModelQuestion {
  model: ReturnType<MakeModel>;
  generation: Generation;
  instructions: string | null;
  messages: ModelMessage[];
  tools: readonly OfferedTool[];
  signal: AbortSignal;
  say: Say;
  /** What the provider's part of the SDK had to say so far. */
  warned: Set<string>;
}

// Its warnings are ours to tell, and standard error is for what nobody expected.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** Asks the model once. What it says is passed on while it comes; its tools are run by the caller. */
export async function modelTurn(question: ModelQuestion): Promise<ModelTurn> {
  const { generation, say, signal } = question;
  const result = streamText({
    ...generation.settings,
    model: question.model,
    ...(question.instructions !== null && { instructions: question.instructions }),
    messages: question.messages,
    tools: Object.fromEntries(question.tools.map(offered => [offered.name, declared(offered)])),
    providerOptions: generation.providerOptions,
    maxRetries: 0,
    abortSignal: signal,
    // They come in the stream, too.
    onError: () => {},
  });
  const words = new TextPieces(text => say({ type: 'text', text }));
  const calls: ModelCall[] = [];
  let text = '';
  let said = 0;
  let usage: LanguageModelUsage | null = null;
  for await (const part of result.stream) {
    said += lengthOf(part);
    if (said > MAX_TEXT_BYTES) throw new ModelFailure('OUTPUT_LIMIT', TOO_MUCH);
    if (part.type === 'text-delta') {
      text += part.text;
      words.add(part.text);
    } else if (part.type === 'text-end') words.end();
    else if (part.type === 'tool-call') calls.push(callFrom(part));
    else if (part.type === 'start-step') warn(part.warnings, question);
    else if (part.type === 'error') throw part.error;
    else if (part.type === 'abort') signal.throwIfAborted();
    else if (part.type === 'finish-step') {
      refuseUnfinished(part.finishReason, part.rawFinishReason, calls.length > 0);
      usage = part.usage;
    }
  }
  signal.throwIfAborted();
  if (usage === null) throw new CutOff();
  const { messages } = await result.response;
  const message = messages.find(said => said.role === 'assistant') ?? null;
  return { text, message, calls, usage };
}

/** A setting that the model does not take is left out; whoever set it should know, once. */
function warn(warnings: readonly Warning[], { warned, say }: ModelQuestion): void {
  for (const warning of warnings) {
    const text =
      'message' in warning
        ? warning.message
        : [`${warning.feature} is ${warning.type}`, warning.details].filter(Boolean).join(': ');
    if (!warned.has(text)) say({ type: 'note', text });
    warned.add(text);
  }
}

const declared = ({ description, inputSchema }: OfferedTool) =>
  tool({ description, inputSchema: jsonSchema(inputSchema) });

interface CallPart {
  toolCallId: string;
  toolName: string;
  input: unknown;
  invalid?: boolean;
  error?: unknown;
}

function callFrom({ toolCallId: id, toolName: name, input, invalid, error }: CallPart): ModelCall {
  if (invalid) return { id, name, input, problem: error instanceof Error ? error.message : String(error) };
  const problem = isObject(input) ? null : `The arguments of ${name} are not a JSON object`;
  return { id, name, input, problem };
}

type StreamPart = { type: string; text?: string; delta?: string };

/** Of what the model says, whatever it says it for. */
const lengthOf = ({ type, text = '', delta = '' }: StreamPart): number =>
  type.endsWith('-delta') ? Buffer.byteLength(text) + Buffer.byteLength(delta) : 0;

const TOO_MUCH = `was cut off: it said more than ${formatBytes(MAX_TEXT_BYTES)} in one answer, which is the limit. Ask for less at once, or let it write the result to a file with a tool.`;

/** An answer that is not whole is not passed off as one. */
function refuseUnfinished(reason: string, raw: string | undefined, hasCalls: boolean): void {
  if (reason === 'stop' || reason === 'tool-calls') return;
  if (reason === 'length' && !hasCalls)
    throw new ModelFailure(
      'ENGINE_FAILED',
      'reached its limit of output tokens in the middle of its answer. Allow it more (max_output in the file of a subagent), or ask for less.',
    );
  if (reason === 'content-filter')
    throw new ModelFailure(
      'ENGINE_FAILED',
      `had its answer ended by its provider (${raw ?? 'content filter'})`,
    );
  if (raw === undefined) throw new CutOff();
  if (reason === 'error') throw new ModelFailure('ENGINE_FAILED', `ended its answer with an error (${raw})`);
}
