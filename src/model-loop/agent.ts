import { readFile, rm } from 'node:fs/promises';
import { AgentRequest } from '../schema/agent-request.ts';
import type { TracePart } from '../schema/trace.ts';
import { addressOf } from './address.ts';
import { Conversation } from './conversation.ts';
import { Ending } from './ending.ts';
import { failureFrom } from './failure.ts';
import { generationOf } from './generation.ts';
import { readInputs } from './inputs.ts';
import { type Answer, converse } from './loop.ts';
import { keyOf, openModel } from './open-model.ts';
import type { Say } from './print-line.ts';
import { toolboxOf } from './toolbox.ts';
import { UsageTotal } from './usage-total.ts';

export interface AgentRun {
  requestFile: string;
  prompt: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  signal: AbortSignal;
  say: Say;
}

/** One turn of a run: from the prompt to the end, which is always said. Returns the exit code. */
export async function runAgent(run: AgentRun): Promise<number> {
  let secrets: string[] = [];
  try {
    run.signal.throwIfAborted();
    const request = await readRequest(run.requestFile);
    secrets = secretsOf(request, run.env);
    const { answer, ...more } = await answerTo(request, run, secrets);
    run.say({ type: 'end', ok: true, answer, ...more, error: null });
    return 0;
  } catch (thrown) {
    const { code, message } = failureFrom(thrown, { host: null, secrets });
    run.say({ type: 'end', ok: false, answer: '', error: message, code });
    return 1;
  }
}

async function answerTo(request: AgentRequest, run: AgentRun, secrets: string[]): Promise<Answer> {
  const { env, cwd, signal, say, prompt } = run;
  const { model: spec, systemPrompt, chatFile, continues, inputs, codeMode } = request;
  say({ type: 'start', model: spec.id });
  const { url, isUsual } = addressOf(spec, env);
  const generation = generationOf(spec, isUsual);
  for (const text of generation.notes) say({ type: 'note', text });
  const [model, files, opened, conversation] = await Promise.all([
    openModel(spec, env),
    readInputs(inputs, cwd),
    toolboxOf({ endpoint: request.endpoint, codeMode }, env, signal),
    // Chat completions know only words as what a tool gives back.
    Conversation.open(chatFile, continues, spec.type !== 'openai', say),
  ]);
  await using toolbox = opened;
  if (conversation.isNew && systemPrompt !== null) conversation.system(systemPrompt);
  const words: TracePart & { type: 'text' } = { type: 'text', text: prompt };
  conversation.user([...files.content, words], [...files.shown, words]);
  await conversation.save();
  return await converse({
    ...{ request, conversation, toolbox, say },
    usage: new UsageTotal(spec.prices),
    question: { model, generation, instructions: systemPrompt, signal, say, warned: new Set() },
    refusal: thrown => {
      if (signal.aborted) return signal.reason;
      const { code, message } = failureFrom(thrown, { host: new URL(url).host, secrets });
      return new Ending(code, message);
    },
  });
}

/** Read once, and gone: it holds the run's token, and values of variables in the headers of its model. */
async function readRequest(file: string): Promise<AgentRequest> {
  try {
    const request = AgentRequest.parse(JSON.parse(await readFile(file, 'utf8')));
    await rm(file, { force: true });
    return request;
  } catch (thrown) {
    throw new Ending('ENGINE_FAILED', `The request in ${file} cannot be read: ${(thrown as Error).message}`);
  }
}

/** What must not come out again, in whatever words a provider puts it. */
function secretsOf({ model, endpoint }: AgentRequest, env: NodeJS.ProcessEnv): string[] {
  const held = [keyOf(model, env), endpoint?.token, ...Object.values(model.headers)];
  return held.filter(secret => typeof secret === 'string').filter(secret => secret.length >= SHORTEST_SECRET);
}

const SHORTEST_SECRET = 8;
