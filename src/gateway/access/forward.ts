import { setImmediate as turnOfAll } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { ForwardedRequest } from '../../core/ports/gateway.ts';
import type { RunId } from '../../schema/ids.ts';
import { type Json, type Progress, UpstreamFault } from '../../wire/upstream/link.ts';
import { Busy } from '../upstream/in-flight.ts';
import type { PooledServer } from '../upstream/pooled-server.ts';
import { argumentShape, type CallAudit, type CallEntry, hashOfText } from './call-audit.ts';
import { failure } from './forward-failure.ts';
import type { Shape } from './shape-result.ts';

/** More text than this is cut: no agent reads it, and its context is small. */
const TEXT_BYTES = 200_000;

export interface Question {
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
