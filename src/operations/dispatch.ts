import { z } from 'zod';
import { allowed, notAllowed } from '../core/policy.ts';
import { waitBrieflyForWrite } from '../core/runs/run-ledger.ts';
import { allFailed } from '../core/runs/run-state.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import type { Run } from '../schema/run.ts';
import { describeZodIssue } from '../schema/zod-issue-text.ts';
import { servicesForAgent, subjectOf } from './agent-services.ts';
import type { Call, Operation, UserServices } from './operation.ts';

/** The one way any face runs an operation: policy asked, input checked, bugs kept apart from refusals, tool calls written down. */
export async function dispatch(
  operation: Operation,
  input: unknown,
  call: Call<UserServices>,
): Promise<unknown> {
  const startedAt = call.services.clock.monotonic();
  let code: string | null = null;
  try {
    const permitted = await permit(operation, call);
    return await operation.run(
      { ...permitted, ...(operation.tool && { tool: operation.name }) },
      parse(operation.input, input),
    );
  } catch (thrown) {
    const error = asSquadError(thrown);
    if (error.code === 'INTERNAL') call.services.hub.reportBug(operation.name, thrown);
    code = error.code;
    throw shortened(error);
  } finally {
    if (operation.tool || code === 'NOT_ALLOWED') {
      const recorded = recordToolCall(call, operation.name, code, startedAt);
      // An agent that got what it asked for is not held up at all.
      if (code !== null || !call.caller.parent) await waitBrieflyForWrite(recorded);
    }
  }
}

/** The call as its caller may make it: an agent has only what is its own business. */
async function permit(operation: Operation, call: Call<UserServices>): Promise<Call> {
  const subject = subjectOf(call);
  if (!allowed(subject, operation)) throw notAllowed(subject, operation);
  if (subject.kind === 'user') return call;
  await call.services.inbox.markResumed(subject.id);
  return { ...call, services: await servicesForAgent(call.services, subject, operation) };
}

/** Every call of a tool is an event, and so is everything that was denied. */
export async function recordToolCall(
  { services, caller }: Pick<Call<UserServices>, 'services' | 'caller'>,
  tool: string,
  code: string | null,
  /** On the monotonic clock. */
  startedAt: number,
  /** Of calls alike that are told as one. */
  count = 1,
): Promise<void> {
  const { store, clock } = services;
  const at = clock.now();
  const body = {
    type: 'tool.called' as const,
    tool: cut(tool, MAX_NAME_LENGTH),
    client: caller.client,
    ok: code === null,
    code,
    durationMs: Math.round(clock.monotonic() - startedAt),
    ...(count > 1 && { count }),
  };
  // The store reports its own trouble; the answer must not hang on the log of it.
  await store
    .commit({ events: [{ at, runId: caller.parent?.id ?? null, squadId: null, body }] })
    .catch(() => {});
}

const MAX_NAME_LENGTH = 100;
const MAX_MESSAGE_LENGTH = 2_000;
const MAX_PROBLEMS = 5;

/** A message quotes what it was given, and that can be megabytes. */
function shortened(error: SquadError): SquadError {
  const { code, message, suggestions, details } = error;
  if ([message, ...suggestions].every(text => text.length <= MAX_MESSAGE_LENGTH)) return error;
  return new SquadError(code, cut(message, MAX_MESSAGE_LENGTH), {
    suggestions: suggestions.map(text => cut(text, MAX_MESSAGE_LENGTH)),
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
  // What a schema says in its own words is a sentence by itself.
  return /^(must|is|has) /.test(message)
    ? `${what} ${message}`
    : path.length > 0
      ? `${what}: ${message}`
      : message;
}

const cut = (text: string, length: number) =>
  text.length > length ? `${text.slice(0, length).toWellFormed()}…` : text;

export function reportFailure(call: Pick<Call, 'onFailed'>, runs: readonly Run[]): void {
  if (allFailed(runs.map(({ status }) => status))) call.onFailed?.();
}
