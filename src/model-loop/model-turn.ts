import {
  type AssistantModelMessage,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  tool,
  type Warning,
} from 'ai';
import { isObject } from '../base/json.ts';
import { formatBytes } from '../base/text.ts';
import { ModelError, ResponseInterrupted } from './agent-error.ts';
import type { Generation } from './model-options.ts';
import { type Emit, MAX_TEXT_BYTES } from './output-lines.ts';
import type { OfferedTool } from './tool.ts';

/** Length from which a line is passed on in parts, split between words. */
const LONG = 64 * 1024;

/** Collects streamed text and passes it on in whole lines. */
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

export interface ModelCall {
  id: string;
  name: string;
  input: unknown;
  /** Why the call cannot be run. Null if it can be run. */
  problem: string | null;
}

export interface ModelTurn {
  text: string;
  message: AssistantModelMessage | null;
  calls: ModelCall[];
  usage: LanguageModelUsage;
}

export type SdkModel = Exclude<LanguageModel, string>;

export interface ModelRequest {
  model: SdkModel;
  generation: Generation;
  instructions: string | null;
  messages: ModelMessage[];
  tools: readonly OfferedTool[];
  signal: AbortSignal;
  emit: Emit;
  /** Warnings of the SDK that were reported already. */
  warned: Set<string>;
}

// The SDK would print its warnings to standard error. `warn` reports them instead.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** Asks the model once and passes its text on as it arrives. The caller runs the tools. */
export async function modelTurn(question: ModelRequest): Promise<ModelTurn> {
  const { generation, emit, signal } = question;
  const result = streamText({
    ...generation.settings,
    model: question.model,
    ...(question.instructions !== null && { instructions: question.instructions }),
    messages: question.messages,
    tools: Object.fromEntries(question.tools.map(offered => [offered.name, declared(offered)])),
    providerOptions: generation.providerOptions,
    maxRetries: 0,
    abortSignal: signal,
    // Errors are handled below, because the stream reports them too.
    onError: () => {},
  });
  const lines = new TextPieces(text => emit({ type: 'text', text }));
  const calls: ModelCall[] = [];
  let text = '';
  let bytes = 0;
  let usage: LanguageModelUsage | null = null;
  for await (const part of result.stream) {
    bytes += lengthOf(part);
    if (bytes > MAX_TEXT_BYTES) throw new ModelError('OUTPUT_LIMIT', TOO_MUCH);
    if (part.type === 'text-delta') {
      text += part.text;
      lines.add(part.text);
    } else if (part.type === 'text-end') lines.end();
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
  if (usage === null) throw new ResponseInterrupted();
  const { messages } = await result.response;
  const message = messages.find(message => message.role === 'assistant') ?? null;
  return { text, message, calls, usage };
}

/** The SDK leaves out settings that a model does not support. The user is warned once. */
function warn(warnings: readonly Warning[], { warned, emit }: ModelRequest): void {
  for (const warning of warnings) {
    const text =
      'message' in warning
        ? warning.message
        : [`${warning.feature} is ${warning.type}`, warning.details].filter(Boolean).join(': ');
    if (!warned.has(text)) emit({ type: 'note', text });
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

/** Length of a part. Text, reasoning and tool arguments all count. */
const lengthOf = ({ type, text = '', delta = '' }: StreamPart): number =>
  type.endsWith('-delta') ? Buffer.byteLength(text) + Buffer.byteLength(delta) : 0;

const TOO_MUCH = `was stopped: one answer was longer than the limit of ${formatBytes(MAX_TEXT_BYTES)}. Ask for less at once, or let it write the result to a file with a tool.`;

function refuseUnfinished(reason: string, raw: string | undefined, hasCalls: boolean): void {
  if (reason === 'stop' || reason === 'tool-calls') return;
  if (reason === 'length' && !hasCalls)
    throw new ModelError(
      'ENGINE_FAILED',
      'reached its output token limit in the middle of its answer. Raise the limit (max_output in a subagent file), or ask for less.',
    );
  if (reason === 'content-filter')
    throw new ModelError(
      'ENGINE_FAILED',
      `was stopped by its provider in the middle of its answer (${raw ?? 'content filter'})`,
    );
  if (raw === undefined) throw new ResponseInterrupted();
  if (reason === 'error') throw new ModelError('ENGINE_FAILED', `ended its answer with an error (${raw})`);
}
