import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createRedactor, type Secret } from '../redaction/redactor.ts';
import { AGENT_REQUEST_FILE, AgentRequest } from '../schema/agent-protocol.ts';
import type { TracePart } from '../schema/conversation.ts';
import type { ModelSpec } from '../schema/model-spec.ts';
import { type Address, addressOf, plainAddress } from './address.ts';
import { Conversation } from './conversation.ts';
import { createQuote, Ending, type Quote } from './ending.ts';
import type { Endpoint } from './endpoint-tools.ts';
import { failureFrom } from './failure.ts';
import { generationOf } from './generation.ts';
import { readInputs } from './inputs.ts';
import { KeptFiles } from './kept-files.ts';
import { type Answer, converse } from './loop.ts';
import type { OutputWriter } from './output-lines.ts';
import { NO_KEY, type ProviderLine, providerFetch } from './provider-http.ts';
import type { MakeModel } from './providers/provider.ts';
import { toolboxOf } from './tools.ts';
import { UsageTotal } from './usage-total.ts';

/** The model that was asked for, by way of the one provider it needs. */
async function openModel(
  spec: ModelSpec,
  { url, isUsual }: Address,
  env: NodeJS.ProcessEnv,
  line: ProviderLine,
): Promise<ReturnType<MakeModel>> {
  const make = await providerOf(spec, isUsual);
  return make({
    id: spec.id,
    baseURL: url,
    apiKey: keyOf(spec, env) ?? NO_KEY,
    headers: spec.headers,
    fetch: providerFetch(line),
  });
}

const keyOf = ({ apiKeyEnv }: ModelSpec, env: NodeJS.ProcessEnv): string | null =>
  (apiKeyEnv !== null && env[apiKeyEnv]) || null;

async function providerOf({ type }: ModelSpec, isUsual: boolean): Promise<MakeModel> {
  if (type === 'anthropic') return (await import('./providers/anthropic.ts')).anthropicModel;
  if (type === 'google') return (await import('./providers/google.ts')).googleModel;
  if (type === 'responses') return (await import('./providers/openai.ts')).responsesModel;
  if (isUsual) return (await import('./providers/openai.ts')).chatModel;
  return (await import('./providers/openai-compatible.ts')).compatibleModel;
}

/** Read once, and gone: it holds the run's token, and values of variables of its model. Nothing of it is ever quoted. */
async function readRequest(file: string): Promise<AgentRequest> {
  let request: AgentRequest | null = null;
  try {
    request = requestIn(await readFile(file, 'utf8'));
    return request;
  } catch (thrown) {
    throw new Ending('ENGINE_FAILED', `The request in ${file} cannot be read: ${(thrown as Error).message}`);
  } finally {
    // Somebody may have named a file of his own by mistake.
    if (request !== null || basename(file) === AGENT_REQUEST_FILE) await rm(file, { force: true });
  }
}

function requestIn(text: string): AgentRequest {
  const { success, data, error } = AgentRequest.safeParse(valueIn(text));
  if (success) return data;
  const wrong = new Set(error.issues.map(({ path }) => String(path[0] ?? '')));
  throw new Error(wrong.has('') ? 'it is not an object' : `it has no right ${[...wrong].join(', ')}`);
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
  say: OutputWriter['say'];
  hide: OutputWriter['hide'];
}

/** One turn of a run: from the prompt to the end, which is always said. Returns the exit code. */
export async function runAgent(run: AgentRun): Promise<number> {
  let quote = createQuote(text => text);
  try {
    const request = await readRequest(run.requestFile);
    const secrets = createRedactor(secretsOf(request));
    run.hide(secrets);
    quote = createQuote(secrets.text);
    run.signal.throwIfAborted();
    const answer = await answerTo(request, run, quote);
    const told = run.say({ type: 'end', ok: true, ...answer, error: null });
    // One that does not fit into its line is told as a failure.
    return told.type === 'end' && told.ok ? 0 : 1;
  } catch (thrown) {
    const { code, message } = failureFrom(thrown, quote);
    run.say({ type: 'end', ok: false, answer: '', error: message, code });
    return 1;
  }
}

async function answerTo(request: AgentRequest, run: AgentRun, quote: Quote): Promise<Answer> {
  const { env, cwd, say, prompt } = run;
  const { endpoint, signal } = endingWithHub(request, run.signal);
  const { model: spec, systemPrompt, chatFile, inputs, codeMode } = request;
  say({ type: 'start', model: spec.id });
  const address = addressOf(spec, env);
  const generation = generationOf(spec, address.isUsual);
  for (const text of generation.notes) say({ type: 'note', text });
  const kept = new KeptFiles(join(dirname(chatFile), 'inputs'));
  const line: ProviderLine = { query: address.query, files: kept, quote, heard: null };
  const [model, files, opened, conversation] = await Promise.all([
    openModel(spec, address, env, line),
    readInputs(inputs, cwd, kept),
    toolboxOf({ endpoint, codeMode }, env, signal),
    // Chat completions know only words as what a tool gives back.
    Conversation.open(request, kept, spec.type !== 'openai', say),
  ]);
  await using toolbox = opened;
  if (conversation.isNew && systemPrompt !== null) conversation.system(systemPrompt);
  const words: TracePart & { type: 'text' } = { type: 'text', text: prompt };
  conversation.user([...files.content, words], [...files.shown, words], files.files);
  await conversation.save();
  const name = `${spec.id} (${spec.type}, ${plainAddress(address.url)})`;
  return await converse({
    ...{ request, conversation, toolbox, say },
    usage: new UsageTotal(spec.prices),
    question: { model, generation, instructions: systemPrompt, signal, say, warned: new Set() },
    refusal: thrown => {
      if (signal.aborted) return signal.reason;
      const { code, message } = failureFrom(thrown, quote, { name, type: spec.type, heard: line.heard });
      return new Ending(code, message);
    },
  });
}

/** Where its tools are, and what stops it: the loss of them too, where they do not come back and nobody hears its answer. */
function endingWithHub(
  { endpoint, endsWithHub }: AgentRequest,
  stopped: AbortSignal,
): { endpoint: Endpoint | null; signal: AbortSignal } {
  if (endpoint === null || !endsWithHub) return { endpoint, signal: stopped };
  const lost = new AbortController();
  const onLost = (why: string) => lost.abort(new Ending('ENGINE_FAILED', `Its tools are gone. ${why}`));
  return { endpoint: { ...endpoint, onLost }, signal: AbortSignal.any([stopped, lost.signal]) };
}

/** What must not come out again, in whatever words the model or its provider puts it. */
const secretsOf = ({ secrets, endpoint }: AgentRequest): Secret[] =>
  endpoint ? [...secrets, { name: 'token', value: endpoint.token }] : secrets;
