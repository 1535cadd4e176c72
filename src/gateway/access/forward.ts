import { setImmediate as turnOfAll } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { ForwardedRequest } from '../../core/ports/gateway.ts';
import type { RunId } from '../../schema/ids.ts';
import { type Json, type Progress, UpstreamFault } from '../../wire/upstream/link.ts';
import { Busy } from '../upstream/call-limit.ts';
import type { PooledServer } from '../upstream/pool.ts';
import { Unavailable } from '../upstream/unavailable.ts';
import { argumentShape, type CallAudit, type CallEntry, hashOfText } from './call-audit.ts';
import type { Callee } from './offers.ts';
import {
  type Shape,
  shapePlainResult,
  shapePromptResult,
  shapeReadResult,
  shapeToolResult,
  withoutReservedMeta,
} from './shape-result.ts';

/** What a server answered instead of a result, or what stands in for its answer: leaves as an error of the protocol. */
export class ForwardedError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'ForwardedError';
    this.code = code;
    this.data = data;
  }
}

/** The server could not be asked, or was lost while it was; the text is for the agent to read. */
export class ServerUnavailable extends Error {}

/** What is written down and what the agent is told when a question has no result. `describe`: what it reads when the server is out of order. */
function failure(
  server: PooledServer,
  error: unknown,
  describe: (server: PooledServer, fault: string) => string,
): { outcome: string; thrown: Error } {
  const { redactor } = server;
  if (error instanceof Unavailable)
    return { outcome: 'unavailable', thrown: new ServerUnavailable(describe(server, error.message)) };
  if (error instanceof Busy) return { outcome: 'busy', thrown: new ServerUnavailable(busy(server)) };
  if (!(error instanceof UpstreamFault))
    return { outcome: 'failed', thrown: error instanceof Error ? error : new Error(String(error)) };
  const message = redactor.text(error.message);
  switch (error.kind) {
    case 'answer': {
      const { code, message: said, data } = error.error ?? { code: -32603, message, data: undefined };
      return {
        outcome: 'protocol_error',
        thrown: new ForwardedError(code, redactor.text(said), redactor.deep(data)),
      };
    }
    case 'cancelled':
      return { outcome: 'cancelled', thrown: new ForwardedError(-32603, 'The request was taken back.') };
    default: {
      const what =
        server.upstream.condition.health === 'up'
          ? `The server ${server.id} failed in this call: ${message.replace(/\.$/, '')}.`
          : describe(server, message);
      const text = `${what} It is not known whether the call was carried out; it was not repeated.`;
      return {
        outcome: error.kind === 'timeout' ? 'timeout' : 'unavailable',
        thrown: new ServerUnavailable(text),
      };
    }
  }
}

const busy = ({ id, timeoutMs }: PooledServer): string =>
  `The server ${id} is busy: no place for one more call came free within ${timeoutMs / 1000} s. It was not asked; make fewer calls at once, or try again later.`;

/** More text than this is cut: no agent reads it, and its context is small. */
const TEXT_BYTES = 200_000;

interface Question {
  server: PooledServer;
  kind: 'tool' | 'resource' | 'prompt' | 'completion';
  /** In the server's own words. */
  own: string;
  method: string;
  params: Json;
  args: unknown;
  shape: Shape;
}

export interface ForwardOptions {
  runId: RunId;
  audit: CallAudit;
  clock: Clock;
  /** What an agent reads when the server is out of order. */
  describe(server: PooledServer, fault: string): string;
}

/** Hands a question on that may be asked, and writes down how it went. Rejects with ForwardedError or OutOfOrder. */
export async function forward(
  { runId, audit, clock, describe }: ForwardOptions,
  question: Question,
  request: ForwardedRequest,
): Promise<Json> {
  const { server, shape } = question;
  audit.check();
  const startedAt = clock.monotonic();
  const entry = entryOf(question);
  const write = (how: Pick<CallEntry, 'outcome' | 'resultBytes' | 'resultHash'>) =>
    audit.write({ ...entry, ...how, durationMs: Math.round(clock.monotonic() - startedAt) });

  let result: Json;
  let json: string;
  try {
    ({ result, json } = withoutSecrets(await asked(runId, audit, entry, question, request), server));
  } catch (error) {
    const { outcome, thrown } = failure(server, error, describe);
    write({ outcome });
    throw thrown;
  }
  const resultBytes = Buffer.byteLength(json);
  const outcome = result.isError === true ? 'tool_error' : 'ok';
  write({ outcome, resultBytes, resultHash: hashOfText(json) });
  return shape(result, server.id, resultBytes <= TEXT_BYTES ? Number.POSITIVE_INFINITY : TEXT_BYTES);
}

async function asked(
  runId: RunId,
  audit: CallAudit,
  entry: CallEntry,
  { server, method, params }: Question,
  request: ForwardedRequest,
): Promise<Json> {
  const { signal, client } = request;
  const turn = server.inFlight.enter(runId, signal, server.timeoutMs);
  if (turn !== undefined) await turn.catch(waitedInVain);
  let over = () => {};
  try {
    if (turn !== undefined) {
      await heard();
      // A disk may have filled up meanwhile.
      audit.check();
    }
    if (signal.aborted) waitedInVain(signal.reason);
    over = audit.begin(entry);
    const options = { signal, onProgress: progressOf(server, request) };
    const { questions, upstream } = server;
    if (questions === null) return await upstream.request(method, params, options);
    const declared = request.capabilities;
    const asked = { ...options, capabilities: questions.capabilitiesFor(client, declared) };
    const ask = (round: Json) => upstream.request(method, round, asked);
    return await questions.during(client, () => questions.answered(ask, params, declared));
  } finally {
    over();
    server.inFlight.leave(runId);
  }
}

/**
 * Many clients that leave at once are heard one by one, and each that had a place gives it to the next, who may be gone as
 * well: whoever waited is asked again after all that has happened is heard. The end of a connection takes two turns.
 */
async function heard(): Promise<void> {
  await turnOfAll();
  await turnOfAll();
}

function waitedInVain(reason: unknown): never {
  throw reason instanceof Busy ? reason : new UpstreamFault('cancelled', 'taken back');
}

/** What is nested too deeply can neither be looked through nor written down again: it is no answer. */
function withoutSecrets(result: Json, { redactor }: PooledServer): { result: Json; json: string } {
  try {
    const json = JSON.stringify(result);
    if (!redactor.hits(json)) return { result, json };
    const clean = redactor.deep(result);
    return { result: clean, json: JSON.stringify(clean) };
  } catch (cause) {
    throw new UpstreamFault('transport', 'The answer is nested too deeply.', { cause });
  }
}

/** The server is asked for progress even when the agent does not want it: a call that goes on must not be given up. */
function progressOf({ redactor }: PooledServer, { progress }: ForwardedRequest): (update: Progress) => void {
  if (progress === null) return () => {};
  return update =>
    progress(update.message === undefined ? update : { ...update, message: redactor.text(update.message) });
}

function entryOf({ server, kind, own, args }: Question): CallEntry {
  const { id, redactor } = server;
  const entry: CallEntry = {
    server: id,
    kind,
    name: redactor.text(own),
    decision: 'allowed',
    outcome: 'asked',
  };
  if (args === undefined) return entry;
  entry.argumentShape = argumentShape(args, redactor.text);
  entry.argumentHash = hashOfText(JSON.stringify(args));
  return entry;
}

/** Requests of agents in the words of the server they go to. */

export const toolCall = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'tool',
  own,
  method: 'tools/call',
  params: { ...withoutReservedMeta(params), name: own },
  args: params.arguments ?? {},
  shape: shapeToolResult,
});

export const resourceRead = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'resource',
  own,
  method: 'resources/read',
  params: { ...withoutReservedMeta(params), uri: own },
  args: undefined,
  shape: shapeReadResult,
});

export const promptGet = ({ pooled, own }: Callee, params: Json): Question => ({
  server: pooled,
  kind: 'prompt',
  own,
  method: 'prompts/get',
  params: { ...withoutReservedMeta(params), name: own },
  args: params.arguments,
  shape: shapePromptResult,
});

export const completion = ({ pooled, own }: Callee, params: Json, ref: Json): Question => ({
  server: pooled,
  kind: 'completion',
  own,
  method: 'completion/complete',
  params: {
    ...withoutReservedMeta(params),
    ref: { ...ref, ...(ref.type === 'ref/prompt' ? { name: own } : { uri: own }) },
  },
  args: undefined,
  shape: shapePlainResult,
});
