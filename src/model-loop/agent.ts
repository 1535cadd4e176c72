import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createRedactor, type Secret } from '../redaction/redactor.ts';
import { AGENT_REQUEST_FILE, AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';
import type { ModelSpec } from '../schema/model-spec.ts';
import { type Address, addressOf, plainAddress } from './address.ts';
import { AgentError, createQuote, type Quote } from './agent-error.ts';
import { ChatFiles } from './chat-files.ts';
import { Conversation } from './conversation.ts';
import type { Endpoint } from './endpoint-tools.ts';
import { failureFrom } from './failure.ts';
import { generationOf } from './generation.ts';
import { readInputs } from './inputs.ts';
import { type Answer, converse } from './loop.ts';
import type { OutputWriter } from './output-lines.ts';
import { NO_KEY, type ProviderContext, providerFetch } from './provider-http.ts';
import type { MakeModel } from './providers/provider.ts';
import { openToolbox } from './toolbox.ts';
import { UsageTotal } from './usage-total.ts';

/** Loads only the provider that the model needs. */
async function openModel(
  spec: ModelSpec,
  { url, isDefaultHost }: Address,
  env: NodeJS.ProcessEnv,
  context: ProviderContext,
): Promise<ReturnType<MakeModel>> {
  const make = await providerOf(spec, isDefaultHost);
  return make({
    id: spec.id,
    baseURL: url,
    apiKey: keyOf(spec, env) ?? NO_KEY,
    headers: spec.headers,
    fetch: providerFetch(context),
  });
}

const keyOf = ({ apiKeyEnv }: ModelSpec, env: NodeJS.ProcessEnv): string | null =>
  (apiKeyEnv !== null && env[apiKeyEnv]) || null;

async function providerOf({ type }: ModelSpec, isDefaultHost: boolean): Promise<MakeModel> {
  if (type === 'anthropic') return (await import('./providers/anthropic.ts')).anthropicModel;
  if (type === 'google') return (await import('./providers/google.ts')).googleModel;
  if (type === 'responses') return (await import('./providers/openai.ts')).responsesModel;
  if (isDefaultHost) return (await import('./providers/openai.ts')).chatModel;
  return (await import('./providers/openai-compatible.ts')).compatibleModel;
}

/** Reads the request and deletes its file, which holds the run's token and secret values. Errors never quote the content. */
async function readRequest(file: string): Promise<AgentRequest> {
  let request: AgentRequest | null = null;
  try {
    request = requestIn(await readFile(file, 'utf8'));
    return request;
  } catch (thrown) {
    throw new AgentError('ENGINE_FAILED', `Cannot read the request in ${file}: ${(thrown as Error).message}`);
  } finally {
    // A file that is not a request may be the user's own, named by mistake: keep it.
    if (request !== null || basename(file) === AGENT_REQUEST_FILE) await rm(file, { force: true });
  }
}

function requestIn(text: string): AgentRequest {
  const { success, data, error } = AgentRequest.safeParse(valueIn(text));
  if (success) return data;
  const wrong = new Set(error.issues.map(({ path }) => String(path[0] ?? '')));
  throw new Error(wrong.has('') ? 'it is not an object' : `missing or invalid: ${[...wrong].join(', ')}`);
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

interface AgentRun {
  requestFile: string;
  prompt: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
  emit: OutputWriter['emit'];
  hideSecrets: OutputWriter['hideSecrets'];
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
    // An answer that is too long for a line was reported as a failure instead.
    return written.type === 'end' && written.ok ? 0 : 1;
  } catch (thrown) {
    const { code, message } = failureFrom(thrown, quote);
    run.emit({ type: 'end', ok: false, answer: '', error: message, code });
    return 1;
  }
}

async function answerTo(request: AgentRequest, run: AgentRun, quote: Quote): Promise<Answer> {
  const { env, cwd, emit, prompt } = run;
  const { endpoint, signal } = stopWithHub(request, run.signal);
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
    // Chat completions accept only text as a tool result.
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

/** With `endsWithHub` the agent also stops when it loses the hub: its tools would not come back, and nobody would read its answer. */
function stopWithHub(
  { endpoint, endsWithHub }: AgentRequest,
  stopped: AbortSignal,
): { endpoint: Endpoint | null; signal: AbortSignal } {
  if (endpoint === null || !endsWithHub) return { endpoint, signal: stopped };
  const lost = new AbortController();
  const onLost = (why: string) =>
    lost.abort(new AgentError('ENGINE_FAILED', `The agent lost its tools. ${why}`));
  return { endpoint: { ...endpoint, onLost }, signal: AbortSignal.any([stopped, lost.signal]) };
}

const secretsOf = ({ secrets, endpoint }: AgentRequest): Secret[] =>
  endpoint ? [...secrets, { name: 'token', value: endpoint.token }] : secrets;
