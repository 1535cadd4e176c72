import { dirname, join } from 'node:path';
import { createRedactor, type Secret } from '../redaction/redactor.ts';
import type { AgentRequest } from '../schema/agent-request.ts';
import type { TracePart } from '../schema/conversation.ts';
import { addressOf, plainAddress } from './address.ts';
import { Conversation } from './conversation.ts';
import { Ending } from './ending.ts';
import type { Endpoint } from './endpoint-tools.ts';
import { failureFrom } from './failure.ts';
import { generationOf } from './generation.ts';
import { readInputs } from './inputs.ts';
import { KeptFiles } from './kept-files.ts';
import { type Answer, converse } from './loop.ts';
import { openModel } from './open-model.ts';
import type { Voice } from './print-line.ts';
import type { ProviderLine } from './provider-fetch.ts';
import { type Quote, quoting } from './quote.ts';
import { readRequest } from './read-request.ts';
import { toolboxOf } from './tools.ts';
import { UsageTotal } from './usage-total.ts';

export interface AgentRun {
  requestFile: string;
  prompt: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
  say: Voice['say'];
  hide: Voice['hide'];
}

/** One turn of a run: from the prompt to the end, which is always said. Returns the exit code. */
export async function runAgent(run: AgentRun): Promise<number> {
  let quote = quoting(text => text);
  try {
    const request = await readRequest(run.requestFile);
    const secrets = createRedactor(secretsOf(request));
    run.hide(secrets);
    quote = quoting(secrets.text);
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
