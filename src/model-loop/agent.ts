import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { tryParseJson } from '../base/json.ts';
import { createRedactor, type Secret } from '../redaction/redactor.ts';
import { AGENT_REQUEST_FILE, AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';
import type { ModelSpec } from '../schema/model-spec.ts';
import { AgentError, createQuote, type Quote } from './agent-error.ts';
import { ChatFiles } from './chat-files.ts';
import { Conversation } from './conversation.ts';
import { readInputs } from './inputs.ts';
import { type Address, addressOf, generationOf, plainAddress } from './model-options.ts';
import { type ModelCall, type ModelRequest, type ModelTurn, modelTurn, type SdkModel } from './model-turn.ts';
import type { Emit, OutputWriter } from './output-lines.ts';
import { NO_KEY, type ProviderContext, providerFetch } from './provider-http.ts';
import { failureFrom } from './provider-response.ts';
import { answerText, type CallReporter, type Tool, type ToolAnswer, textAnswer } from './tool.ts';
import { type Endpoint, openToolbox, type Toolbox } from './toolbox.ts';
import { UsageTotal } from './usage-total.ts';

const FINAL_ANSWER = 'final_answer';

/**
 * Tool for the final answer when it must match a schema. Calling it alone ends the conversation. If the model calls
 * it with other tools, `call` runs and refuses.
 */
const finalAnswerTool = (outputSchema: Record<string, unknown>): Tool => ({
  name: FINAL_ANSWER,
  description:
    'Gives the final answer and ends the conversation: its arguments are the answer. Call it once, after you have the results of all other calls. It must be the only call of its turn; together with other calls it is refused.',
  inputSchema: outputSchema,
  call: async () => textAnswer(false, NOT_ALONE),
});

const NOT_ALONE = `Refused: ${FINAL_ANSWER} must be the only call of its turn. Read the results of the other calls, then call it again, alone.`;

/**
 * The call that ends the conversation. Null if the model made other calls with it: it had not seen their results, and
 * of two answers none is clearly the final one.
 */
function onlyFinalCall(calls: readonly ModelCall[]): ModelCall | null {
  const [first, ...others] = calls;
  return first?.name === FINAL_ANSWER && others.length === 0 ? first : null;
}

/** Runs one tool call. If the call is not possible, the answer says why, and the model continues. */
async function runCall(
  { id, name, input, problem }: ModelCall,
  tools: readonly Tool[],
  signal: AbortSignal,
  { emit, trace }: Omit<CallReporter, 'id'>,
): Promise<ToolAnswer> {
  emit({ type: 'tool', id, name, detail: typeof input === 'string' ? input : JSON.stringify(input) });
  const answer = await answerOf();
  emit({ type: 'tool_end', id, name, ok: answer.ok, detail: answerText(answer) });
  return answer;

  async function answerOf(): Promise<ToolAnswer> {
    const tool = tools.find(offered => offered.name === name);
    if (!tool)
      return textAnswer(false, `Unknown tool ${JSON.stringify(name)}. Available: ${namesOf(tools)}.`);
    if (problem !== null) return textAnswer(false, problem);
    try {
      return await tool.call(input as Record<string, unknown>, signal, { id, emit, trace });
    } catch (thrown) {
      signal.throwIfAborted();
      return textAnswer(false, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}

const namesOf = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(', ') || 'none';

interface LoopOptions {
  request: AgentRequest;
  conversation: Conversation;
  toolbox: Pick<Toolbox, 'tools' | 'prepare'>;
  usage: UsageTotal;
  question: Omit<ModelRequest, 'messages' | 'tools'>;
  /** Converts an error of the SDK or the provider into the error to report. */
  toError(thrown: unknown): unknown;
  emit: Emit;
}

export interface Answer {
  /** Text of the answer. Empty if the answer is in `structured`. */
  answer: string;
  structured?: unknown;
}

/** Asks the model, runs the tools it calls and asks again, until it answers or reaches a limit. */
export async function converse(options: LoopOptions): Promise<Answer> {
  const { request, conversation } = options;
  for (let turn = 1; ; turn++) {
    const tools = toolsOf(options);
    const asking = askOnce(options, tools);
    // Prepares nothing in the last model turn, because its calls are not run.
    if (turn < request.maxTurns) options.toolbox.prepare();
    const { text, calls } = await asking;
    const final = request.outputSchema === null ? null : onlyFinalCall(calls);
    if (final) return finish(options, final);
    if (calls.length === 0) {
      await conversation.save();
      if (request.outputSchema !== null)
        throw new AgentError(
          'OUTPUT_MISMATCH',
          `The model ended the conversation without calling ${FINAL_ANSWER}`,
        );
      return { answer: text };
    }
    if (turn >= request.maxTurns) {
      const answer = textAnswer(false, 'Not run: the model turn limit is reached.');
      conversation.tools(calls.map(call => ({ call, answer })));
      await conversation.save();
      throw new AgentError('TURN_LIMIT', tooMany(request.maxTurns));
    }
    const { question, emit } = options;
    const reporter = { emit, trace: (parts: TracePart[]) => conversation.program(parts) };
    const answers = await Promise.all(
      calls.map(async call => ({
        call,
        answer: await runCall(call, tools, question.signal, reporter),
      })),
    );
    question.signal.throwIfAborted();
    conversation.tools(answers);
    await conversation.save();
  }
}

const toolsOf = ({ request: { outputSchema }, toolbox: { tools } }: LoopOptions): readonly Tool[] =>
  outputSchema === null ? tools : [...tools, finalAnswerTool(outputSchema)];

async function askOnce(
  { conversation, question, usage, toError, emit }: LoopOptions,
  tools: readonly Tool[],
): Promise<ModelTurn> {
  try {
    const said = await modelTurn({ ...question, messages: conversation.messages, tools });
    conversation.assistant(said.message, said.calls);
    const wasPartial = usage.isPartial;
    usage.add(said.usage);
    if (usage.isPartial && !wasPartial) emit({ type: 'note', text: PARTIAL });
    emit({ type: 'usage', ...usage.figures });
    return said;
  } catch (thrown) {
    throw toError(thrown);
  }
}

async function finish({ conversation }: LoopOptions, final: ModelCall): Promise<Answer> {
  const { problem, input } = final;
  const answer = problem === null ? textAnswer(true, 'Accepted as the answer.') : textAnswer(false, problem);
  conversation.tools([{ call: final, answer }]);
  await conversation.save();
  if (problem !== null)
    throw new AgentError(
      'OUTPUT_MISMATCH',
      `The model called ${FINAL_ANSWER} with an invalid answer: ${problem}`,
    );
  return { answer: '', structured: input };
}

const PARTIAL =
  'The provider reported usage for some answers only, so the totals it left out are unknown for this run.';

const tooMany = (most: number): string =>
  `The model did not finish within ${most} model ${most === 1 ? 'turn' : 'turns'}, which is the limit (maxTurns)`;

/** Loads only the provider that the model needs: each provider is a separate file in `dist`. */
async function openModel(
  spec: ModelSpec,
  { url, isDefaultHost }: Address,
  env: NodeJS.ProcessEnv,
  context: ProviderContext,
): Promise<SdkModel> {
  const { id, type, headers } = spec;
  const apiKey = keyOf(spec, env) ?? NO_KEY;
  const settings = { baseURL: url, apiKey, headers, fetch: providerFetch(context) };
  if (type === 'anthropic') return (await import('@ai-sdk/anthropic')).createAnthropic(settings)(id);
  if (type === 'google') return (await import('@ai-sdk/google')).createGoogle(settings)(id);
  if (type === 'responses') return (await import('@ai-sdk/openai')).createOpenAI(settings).responses(id);
  if (isDefaultHost) return (await import('@ai-sdk/openai')).createOpenAI(settings).chat(id);
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ ...settings, name: 'openai', includeUsage: true }).chatModel(id);
}

const keyOf = ({ apiKeyEnv }: ModelSpec, env: NodeJS.ProcessEnv): string | null =>
  (apiKeyEnv !== null && env[apiKeyEnv]) || null;

/** Reads the request and deletes its file, which holds the run's token and secret values. Errors never quote the content. */
async function readRequest(file: string): Promise<AgentRequest> {
  let request: AgentRequest | null = null;
  try {
    request = requestIn(await readFile(file, 'utf8'));
    return request;
  } catch (thrown) {
    throw new AgentError('ENGINE_FAILED', `Cannot read the request in ${file}: ${(thrown as Error).message}`);
  } finally {
    // A file that is not a request is kept: it may be the user's own, named by mistake.
    if (request !== null || basename(file) === AGENT_REQUEST_FILE) await rm(file, { force: true });
  }
}

function requestIn(text: string): AgentRequest {
  const value = tryParseJson(text);
  if (value === undefined) throw new Error('it is not JSON');
  const { success, data, error } = AgentRequest.safeParse(value);
  if (success) return data;
  const wrong = new Set(error.issues.map(({ path }) => String(path[0] ?? '')));
  throw new Error(wrong.has('') ? 'it is not an object' : `missing or invalid: ${[...wrong].join(', ')}`);
}

interface AgentRun {
  requestFile: string;
  prompt: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
  emit: OutputWriter['emit'];
  hideSecrets: OutputWriter['hideSecrets'];
  /** Starts the next hub if the last one was killed. */
  replaceKilledHub(): Promise<void>;
}

/** One turn of a run. Always ends with an `end` line. Returns the exit code. */
export async function runAgent(run: AgentRun): Promise<number> {
  let quote = createQuote(text => text);
  try {
    const request = await readRequest(run.requestFile);
    const secrets = createRedactor(secretsOf(request));
    run.hideSecrets(secrets);
    quote = createQuote(secrets.text);
    run.signal.throwIfAborted();
    const answer = await answerTo(request, run, quote);
    const written = run.emit({ type: 'end', ok: true, ...answer, error: null });
    // `emit` reports an answer that is too long for a line as a failure.
    return written.type === 'end' && written.ok ? 0 : 1;
  } catch (thrown) {
    const { code, message } = failureFrom(thrown, quote);
    run.emit({ type: 'end', ok: false, answer: '', error: message, code });
    return 1;
  }
}

async function answerTo(request: AgentRequest, run: AgentRun, quote: Quote): Promise<Answer> {
  const { env, cwd, emit, prompt } = run;
  const { endpoint, signal } = withoutHub(request, run);
  const { model: spec, systemPrompt, chatFile, inputs, codeMode } = request;
  emit({ type: 'start', model: spec.id });
  const address = addressOf(spec, env);
  const generation = generationOf(spec, address.isDefaultHost);
  for (const text of generation.notes) emit({ type: 'note', text });
  const kept = new ChatFiles(join(dirname(chatFile), 'inputs'));
  const context: ProviderContext = { query: address.query, files: kept, quote, received: null };
  const [model, files, opened, conversation] = await Promise.all([
    openModel(spec, address, env, context),
    readInputs(inputs, cwd, kept),
    openToolbox({ endpoint, codeMode }, env, signal),
    // `openai` is excluded, because chat completions accept only text as the result of a tool.
    Conversation.open(request, kept, spec.type !== 'openai', emit),
  ]);
  await using toolbox = opened;
  if (conversation.isNew && systemPrompt !== null) conversation.system(systemPrompt);
  const text: TracePart & { type: 'text' } = { type: 'text', text: prompt };
  conversation.user([...files.content, text], [...files.shown, text], files.files);
  await conversation.save();
  const name = `${spec.id} (${spec.type}, ${plainAddress(address.url)})`;
  return await converse({
    ...{ request, conversation, toolbox, emit },
    usage: new UsageTotal(spec.prices),
    question: { model, generation, instructions: systemPrompt, signal, emit, warned: new Set() },
    toError: thrown => {
      if (signal.aborted) return signal.reason;
      const { code, message } = failureFrom(thrown, quote, {
        name,
        type: spec.type,
        received: context.received,
      });
      return new AgentError(code, message);
    },
  });
}

/**
 * A lost hub is replaced, and calls that it did not receive are sent to the next one. With `endsWithHub` the agent stops
 * instead: its tools would not come back, and nobody would read its answer.
 */
function withoutHub(
  { endpoint, endsWithHub }: AgentRequest,
  { signal: stopped, replaceKilledHub }: AgentRun,
): { endpoint: Endpoint | null; signal: AbortSignal } {
  if (endpoint === null) return { endpoint, signal: stopped };
  if (!endsWithHub) return { endpoint: { ...endpoint, onLost: replaceKilledHub }, signal: stopped };
  const lost = new AbortController();
  const onLost = async (why: string) =>
    lost.abort(new AgentError('ENGINE_FAILED', `The agent lost its tools. ${why}`));
  return { endpoint: { ...endpoint, onLost }, signal: AbortSignal.any([stopped, lost.signal]) };
}

const secretsOf = ({ secrets, endpoint }: AgentRequest): Secret[] =>
  endpoint ? [...secrets, { name: 'token', value: endpoint.token }] : secrets;
