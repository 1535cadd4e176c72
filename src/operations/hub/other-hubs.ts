import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { HubCallRows, OtherHub } from '../../core/ports/store.ts';
import { asSquadError, isErrorCode, SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { perform } from '../dispatch.ts';
import type { Call, Operation, OtherHubs, UserServices } from '../operation.ts';
import { operationNamed } from '../operations.ts';
import { RunElsewhere, refuseElsewhere } from '../runs/find-runs.ts';

/**
 * Operations that a hub carries out for another one. Each is about runs that the user of the other hub sees in its
 * lists. Whatever opens windows, or is about a whole hub, its settings or its machine, is only possible there.
 */
const AT_OTHER_HUBS: readonly string[] = [
  'show_run',
  'show_squad',
  'show_squad_request',
  'squad_status',
  'run_actions',
  'get_result',
  'read_output',
  'locate_output',
  'search_output',
  'get_conversation',
  'diff_run',
  'changed_image',
  'export_run',
  'answer_question',
  'send_message',
  'interrupt_run',
  'reply_to_run',
  'retry_runs',
  'show_review',
  'diff_review',
  'steer_review',
  'comment_on_run',
  'plan_integration',
  'show_check',
  'integrate',
];

const Request = z.object({
  operation: z.string(),
  input: z.unknown(),
  run: RunId,
  client: z.string().nullable(),
  waitMs: z.number().nullable(),
  ceilingMs: z.number().nullable(),
  isByModel: z.boolean(),
});
type Request = z.infer<typeof Request>;

const Answer = z.union([
  z.object({ progress: z.string() }),
  z.object({ result: z.unknown(), isFailed: z.boolean() }),
  z.object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      suggestions: z.array(z.string()).optional(),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
]);
type Answer = z.infer<typeof Answer>;

export interface HubCallsPorts {
  /** Null if only one hub can use the database. */
  rows: HubCallRows | null;
  clock: Clock;
  services(): UserServices;
  /** Environment for runs that are started for another hub, whose own environment never leaves its machine. */
  environment(): Record<string, string>;
  onInFlight(change: 1 | -1): void;
  warn(message: string, cause: unknown): void;
}

interface Pending {
  sentAt: number;
  take(answer: Answer): void;
  fail(error: SquadError): void;
  error(why: string, next?: string): SquadError;
}

/** How long another hub may take to accept a request. It accepts at once, unless it hangs. */
const ACCEPT_TIMEOUT_MS = 5_000;
/** How often each side makes sure that the other one is still there. */
const CHECK_INTERVAL_MS = 2_000;
const MAX_ANSWER_LENGTH = 64 * 1024 * 1024;

/** Operations of this hub that others carry out, and the other way round. Requests and answers are rows. */
export class HubCalls implements OtherHubs {
  private readonly ports: HubCallsPorts;
  private readonly pending = new Map<string, Pending>();
  private readonly working = new Map<string, AbortController>();
  private timer: NodeJS.Timeout | null = null;
  private looking: Promise<void> | null = null;
  private isStale = false;
  private isClosed = false;

  constructor(ports: HubCallsPorts) {
    this.ports = ports;
  }

  /** Takes new requests and answers. Called with each notification about them. */
  look(): void {
    this.isStale = true;
    this.looking ??= this.lookNow()
      .catch(thrown => this.ports.warn('Requests of other hubs could not be read', thrown))
      .then(() => {
        this.looking = null;
        if (this.isStale && !this.isClosed) this.look();
      });
  }

  /** Gives up every request. */
  close(): void {
    this.isClosed = true;
    if (this.timer) clearInterval(this.timer);
    for (const { fail, error } of this.pending.values()) fail(error(', and this hub stops'));
    for (const work of this.working.values()) work.abort();
  }

  async carryOut(
    at: { runId: RunId; hub: OtherHub },
    operation: Operation,
    input: unknown,
    call: Call<UserServices>,
  ): Promise<unknown> {
    const { rows, clock } = this.ports;
    const { runId, hub } = at;
    if (!AT_OTHER_HUBS.includes(operation.name))
      throw new RunElsewhere(runId, hub, `, and ${operation.name} is only possible there`);
    if (!rows || !hub.isRunning) throw new RunElsewhere(runId, hub, ', which is not running');
    const id = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<{ result: unknown; isFailed: boolean }>();
    promise.catch(() => {}); // it may be rejected while the request is sent
    const request: Request = {
      ...{ operation: operation.name, input: input ?? {}, run: runId, client: call.caller.client },
      ...{ waitMs: call.waitMs, ceilingMs: call.ceilingMs ?? null, isByModel: call.isByModel === true },
    };
    this.pending.set(id, {
      sentAt: clock.monotonic(),
      error: why => new RunElsewhere(runId, hub, why),
      fail: reject,
      take(answer) {
        if ('progress' in answer)
          void call.progress(answer.progress).catch(() => {}); // the client has stopped reading
        else if ('result' in answer) resolve(answer);
        else reject(errorOf(answer.error));
      },
    });
    const onAbort = () => reject(new RunElsewhere(runId, hub, ', and nobody waits for its answer any more'));
    call.signal.addEventListener('abort', onAbort, { once: true });
    this.watch();
    let isAnswered = false;
    try {
      await rows.send({ id, to: hub.id, request: JSON.stringify(request) });
      const { result, isFailed } = await promise;
      isAnswered = true;
      if (isFailed) call.onFailed?.();
      return result;
    } finally {
      call.signal.removeEventListener('abort', onAbort);
      this.pending.delete(id);
      this.watch();
      await rows
        .end(id, isAnswered)
        .catch(thrown => this.ports.warn('A request to another hub stays', thrown));
    }
  }

  private async lookNow(): Promise<void> {
    const { rows } = this.ports;
    if (!rows) return;
    while (this.isStale && !this.isClosed) {
      this.isStale = false;
      if (this.pending.size > 0)
        for (const { id, answer } of await rows.answers())
          this.pending.get(id)?.take(Answer.parse(JSON.parse(answer)));
      for (const { id, request } of await rows.take()) void this.work(id, request, rows);
      if (this.working.size > 0) await this.dropUnwanted(rows);
    }
  }

  private async dropUnwanted(rows: HubCallRows): Promise<void> {
    const ids = [...this.working.keys()];
    const wanted = await rows.stillWanted(ids);
    for (const id of ids) if (!wanted.has(id)) this.working.get(id)?.abort();
  }

  private async dropLost(rows: HubCallRows): Promise<void> {
    const states = await rows.states([...this.pending.keys()]);
    for (const [id, { sentAt, fail, error }] of this.pending) {
      const state = states.get(id);
      const isLate = this.ports.clock.monotonic() - sentAt > ACCEPT_TIMEOUT_MS;
      if (state === 'lost')
        fail(error(', which stopped before it answered. Whether the request was carried out is unknown'));
      else if (state === 'waiting' && isLate && (await rows.withdraw(id)))
        fail(error(', which does not answer. Nothing was done'));
    }
  }

  /** Checks the other side regularly while there are requests. */
  private watch(): void {
    const isNeeded = this.pending.size + this.working.size > 0 && !this.isClosed;
    if (!isNeeded && this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    }
    if (isNeeded) this.timer ??= setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
  }

  private async check(): Promise<void> {
    const { rows, warn } = this.ports;
    this.look();
    if (rows && this.pending.size > 0)
      await this.dropLost(rows).catch(thrown => warn('Requests to other hubs could not be checked', thrown));
  }

  private async work(id: string, request: string, rows: HubCallRows): Promise<void> {
    const { onInFlight, warn } = this.ports;
    const gone = new AbortController();
    this.working.set(id, gone);
    this.watch();
    onInFlight(1);
    try {
      const answer = await this.answerTo(request, gone.signal, progress =>
        rows.answer(id, JSON.stringify({ progress } satisfies Answer)),
      );
      if (!gone.signal.aborted) await rows.answer(id, answer);
    } catch (thrown) {
      // The request may have been withdrawn meanwhile. Otherwise the other hub gives up, because no sign follows.
      warn('An answer to another hub could not be sent', thrown);
    } finally {
      this.working.delete(id);
      this.watch();
      onInFlight(-1);
    }
  }

  /** Never rejects, except when the answer is an error that cannot be described. */
  private async answerTo(
    request: string,
    signal: AbortSignal,
    progress: (text: string) => Promise<void>,
  ): Promise<string> {
    const services = this.ports.services();
    let name = 'a request of another hub';
    try {
      const asked = Request.parse(JSON.parse(request));
      name = asked.operation;
      let isFailed = false;
      const result = await this.performFor(asked, {
        services,
        signal,
        progress,
        onFailed: () => {
          isFailed = true;
        },
      });
      const answer = JSON.stringify({ result, isFailed } satisfies Answer);
      if (answer.length <= MAX_ANSWER_LENGTH) return answer;
      throw new SquadError('MESSAGE_TOO_LARGE', `The answer has ${answer.length} characters.`, {
        suggestions: ['Use Squad at the hub of the run.'],
      });
    } catch (thrown) {
      const error = asSquadError(thrown);
      if (error.code === 'INTERNAL') services.hub.reportBug(name, thrown);
      return JSON.stringify({ error: error.toShape() });
    }
  }

  /** Carries out an operation about a run of this hub, for the user of another hub. */
  private async performFor(
    { operation: name, input, run: runId, client, waitMs, ceilingMs, isByModel }: Request,
    call: Pick<Call<UserServices>, 'services' | 'signal' | 'progress' | 'onFailed'>,
  ): Promise<unknown> {
    const { store } = call.services;
    if (!AT_OTHER_HUBS.includes(name))
      throw new SquadError('NOT_ALLOWED', `${name} is not possible for another hub`);
    await refuseElsewhere(store, runId);
    // Another hub's folder may be on another machine, so the operation gets the workspace of the run.
    const workspace = (await store.run(runId))?.workspace ?? null;
    return perform(operationNamed(name), input, {
      ...call,
      caller: { client, cwd: null, workspace, env: this.ports.environment(), parent: null },
      ...{ waitMs, ceilingMs, emit: () => {} },
      ...(isByModel && { isByModel: true as const }),
    });
  }
}

function errorOf({ code, message, suggestions, details }: Extract<Answer, { error: unknown }>['error']) {
  return isErrorCode(code)
    ? new SquadError(code, message, { suggestions: suggestions ?? [], ...(details && { details }) })
    : new SquadError('INTERNAL', `${message} (${code})`);
}
