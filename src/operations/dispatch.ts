import { z } from 'zod';
import { allowed, notAllowed } from '../core/policy.ts';
import { waitBrieflyForWrite } from '../core/runs/run-ledger.ts';
import { allFailed } from '../core/runs/run-state.ts';
import { truncate } from '../core/text.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import { describeZodIssue } from '../schema/zod-issue-text.ts';
import { servicesForAgent, subjectOf } from './agent-services.ts';
import type { Call, Operation, UserServices } from './operation.ts';
import { RunElsewhere } from './runs/find-runs.ts';

/** Runs an operation for any interface: asks policy, checks the input, separates bugs from refusals, and records tool calls. */
export async function dispatch(
  operation: Operation,
  input: unknown,
  call: Call<UserServices>,
): Promise<unknown> {
  const startedAt = call.services.clock.monotonic();
  let code: string | null = null;
  try {
    return await perform(operation, input, call).catch(thrown => {
      // An agent has no rights at other hubs: whatever it may see belongs to its own hub.
      if (!(thrown instanceof RunElsewhere) || call.caller.parent) throw thrown;
      return performElsewhere(thrown, operation, input, call);
    });
  } catch (thrown) {
    const error = asSquadError(thrown);
    if (error.code === 'INTERNAL') call.services.hub.reportBug(operation.name, thrown);
    code = error.code;
    throw shortened(error);
  } finally {
    if (operation.tool || code === 'NOT_ALLOWED') {
      const recorded = recordToolCall(call, operation.name, code, startedAt);
      // A successful call of an agent does not wait until the event is written.
      if (code !== null || !call.caller.parent) await waitBrieflyForWrite(recorded);
    }
  }
}

/** Runs an operation at this hub. */
export async function perform(
  operation: Operation,
  input: unknown,
  call: Call<UserServices>,
): Promise<unknown> {
  const permitted = await permit(operation, call);
  return operation.run(
    { ...permitted, ...(operation.tool && { tool: operation.name }) },
    parse(operation.input, input),
  );
}

/** Operations that can also show what the database has of a run whose hub is not running. */
const FROM_ROWS: readonly string[] = ['show_run', 'show_squad', 'get_result', 'get_conversation'];

async function performElsewhere(
  at: RunElsewhere,
  operation: Operation,
  input: unknown,
  call: Call<UserServices>,
): Promise<unknown> {
  if (at.hub.isRunning || !FROM_ROWS.includes(operation.name))
    return call.services.otherHubs.carryOut(at, operation, input, call);
  const { services } = call;
  const store = { ...services.store, otherOwner: async () => null };
  return perform(operation, input, { ...call, services: { ...services, store } });
}

/** Asks policy, and returns the call with the services that its caller may use. */
async function permit(operation: Operation, call: Call<UserServices>): Promise<Call> {
  const subject = subjectOf(call);
  if (!allowed(subject, operation)) throw notAllowed(subject, operation);
  if (subject.kind === 'user') return call;
  await call.services.inbox.markResumed(subject.id);
  return { ...call, services: await servicesForAgent(call.services, subject, operation) };
}

/** Every tool call is recorded as an event, and so is every denied call. */
export async function recordToolCall(
  { services, caller }: Pick<Call<UserServices>, 'services' | 'caller'>,
  tool: string,
  code: string | null,
  /** Start time of the call, on the monotonic clock. */
  startedAt: number,
  /** Number of similar calls in one event. */
  count = 1,
): Promise<void> {
  const { store, clock } = services;
  const at = clock.now();
  const body = {
    type: 'tool.called' as const,
    tool: truncate(tool, MAX_NAME_LENGTH),
    client: caller.client,
    ok: code === null,
    code,
    durationMs: Math.round(clock.monotonic() - startedAt),
    ...(count > 1 && { count }),
  };
  // A failed write of the event must not fail the call; the store reports its own errors.
  await store
    .commit({ events: [{ at, runId: caller.parent?.id ?? null, squadId: null, body }] })
    .catch(() => {});
}

const MAX_NAME_LENGTH = 100;
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_PROBLEMS = 5;

/** Shortens the message, because it may quote input of several megabytes. */
function shortened(error: SquadError): SquadError {
  const { code, message, suggestions, details } = error;
  if ([message, ...suggestions].every(text => text.length <= MAX_MESSAGE_LENGTH)) return error;
  return new SquadError(code, truncate(message, MAX_MESSAGE_LENGTH), {
    suggestions: suggestions.map(text => truncate(text, MAX_MESSAGE_LENGTH)),
    details,
    cause: error,
  });
}

function parse(schema: z.ZodType, input: unknown): unknown {
  const parsed = schema.safeParse(input ?? {}, { error: describeZodIssue });
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.slice(0, MAX_PROBLEMS).map(problem);
  if (issues.length > MAX_PROBLEMS) problems.push(`and ${issues.length - MAX_PROBLEMS} more`);
  throw new SquadError('INVALID_INPUT', problems.join('\n'), {
    suggestions: ['Compare with the input schema of the tool. Nothing was done.'],
  });
}

function problem({ path, message }: z.core.$ZodIssue): string {
  const what = path.length > 0 ? `"${z.core.toDotPath(path)}"` : 'The input';
  // Matches messages that begin with a verb and therefore continue the name of the field. All others are complete
  // sentences.
  return /^(must|is|has) /.test(message)
    ? `${what} ${message}`
    : path.length > 0
      ? `${what}: ${message}`
      : message;
}

export function reportFailure(call: Pick<Call, 'onFailed'>, runs: readonly Run[]): void {
  if (allFailed(runs.map(({ status }) => status))) call.onFailed?.();
}
