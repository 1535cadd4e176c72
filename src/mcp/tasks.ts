import type { Caller } from '../core/ports/workspace.ts';
import { allFailed } from '../core/runs/run-state.ts';
import { reportFailure } from '../operations/dispatch.ts';
import type { Call as OperationCall, Services } from '../operations/operation.ts';
import { cancellerOf, stopRuns } from '../operations/runs/cancel-run.ts';
import { findRun, findSquad } from '../operations/runs/find-runs.ts';
import { type ResultOptions, runResult, squadResult } from '../operations/runs/run-result.ts';
import { parallelResult, type TaskTarget, taskTarget } from '../operations/runs/spawn-parallel.ts';
import { statusText } from '../operations/runs/status-text.ts';
import { TOLD_USER, waitForEndsOrAsks } from '../operations/runs/wait.ts';
import { SquadError } from '../schema/error.ts';
import { isEnd, type Run, type Squad } from '../schema/run.ts';
import type { Call, Face } from '../wire/face/face.ts';
import type { TaskState } from '../wire/face/face-tasks.ts';
import {
  askWhileWaiting,
  CLOSED,
  clientName,
  requestsFor,
  showsForms,
  takeResponses,
} from './client-questions.ts';

const POLL_MS = 3_000;
/** How long a task can be queried. By default `squad prune` keeps ended runs for the same time. */
const TTL_MS = 30 * 24 * 3_600_000;

/** Runs and squads as MCP tasks. Stateless: the store and the runner know everything. */
export function tasks(services: Services, caller: Caller): NonNullable<Face['tasks']> {
  return {
    get: (taskId, call) =>
      taskState(services, taskId, { askUnlessTold: showsForms(call) ? toldKey(call) : null }),
    wait: (taskId, call) =>
      // The hub may stop during this wait, because the client's relay repeats the request at the next hub.
      services.hub.whileAsking(() =>
        waitForTask(services, { ...caller, client: clientName(call) }, taskId, call),
      ),
    async cancel(taskId, call) {
      const found = await find(services, taskId);
      if (!found) return false;
      const by = await cancellerOf({ services, caller: { ...caller, client: clientName(call) } });
      await stopRuns(services, found.runs, by);
      return true;
    },
    async answer(taskId, responses, call) {
      const found = await find(services, taskId);
      if (found) await takeResponses(services, { ...caller, client: clientName(call) }, responses);
      return found !== null;
    },
  };
}

async function waitForTask(
  services: Services,
  caller: Caller,
  taskId: string,
  call: Call,
): Promise<TaskState | null> {
  const { signal } = call;
  const askPerson = askWhileWaiting(services, call);
  const waiting: OperationCall = {
    ...{ services, caller, signal, waitMs: null, emit: () => {} },
    progress: message => call.progress(message),
    ...(askPerson && { askPerson }),
  };
  for (;;) {
    const found = await find(services, taskId);
    if (!found) return null;
    if (signal.aborted || found.runs.every(run => isEnd(run.status))) return taskState(services, taskId);
    // A question that was not answered ended one wait. The next wait ignores that question.
    await waitForEndsOrAsks(waiting, found.runs, null);
  }
}

/**
 * State of an MCP task. Null if there is no such task. With `askUnlessTold`, the client is asked open questions;
 * shown questions are remembered under that key, so that each is asked once.
 */
export async function taskState(
  services: Services,
  taskId: string,
  { askUnlessTold = null, tool }: { askUnlessTold?: string | null; tool?: string } = {},
): Promise<TaskState | null> {
  const found = await find(services, taskId);
  if (!found) return null;
  const { runs } = found;
  const moments = runs.map(run => run.endedAt ?? run.startedAt ?? run.createdAt);
  const facts = {
    id: taskId,
    statusMessage: await statusText(services, runs),
    createdAt: Math.min(...runs.map(run => run.createdAt)),
    lastUpdatedAt: Math.max(...moments),
    ttlMs: TTL_MS,
    pollIntervalMs: POLL_MS,
  };
  const asks = askUnlessTold === null ? [] : unasked(services, runs, askUnlessTold);
  if (asks.length > 0)
    return { ...facts, status: 'input_required', inputRequests: requestsFor(services, asks) as never };
  if (!runs.every(run => isEnd(run.status))) return { ...facts, status: 'working' };
  if (runs.every(run => run.status === 'cancelled')) return { ...facts, status: 'cancelled' };
  const structured = { ...(await result(services, found, { tool })) };
  const isError = allFailed(runs.map(({ status }) => status));
  return { ...facts, status: 'completed', result: { structured, isError } };
}

/** Result of a task, or its state after the longest wait that the call allows. Throws INVALID_INPUT. */
export async function continueTask(call: OperationCall, taskId: string): Promise<object> {
  const found = await find(call.services, taskId);
  if (!found)
    throw new SquadError('INVALID_INPUT', 'The requestState does not belong to a known task', {
      suggestions: ['Call the tool again without requestState.'],
    });
  await waitForEndsOrAsks(call, found.runs, call.waitMs);
  reportFailure(call, found.runs);
  return result(call.services, found, call);
}

const unasked = ({ inbox }: Services, runs: Run[], key: string) =>
  inbox.openFor(runs.map(({ id }) => id)).filter(({ id }) => !inbox.isNotified(id, key));

/** Key for remembering shown questions. Clients of older revisions get a question only once, with `tasks/result`. */
const toldKey = ({ era }: Call): string => (era === 'modern' ? CLOSED : TOLD_USER);

interface Found {
  target: TaskTarget;
  squad: Pick<Squad, 'id' | 'metadata'>;
  runs: Run[];
}

async function find(services: Services, taskId: string): Promise<Found | null> {
  const target = taskTarget(taskId);
  if (!target) return null;
  try {
    if (target.shape !== 'run') {
      const { squad, runs } = await findSquad(services, target.id);
      return squad.id === target.id && runs.length > 0 ? { target, squad, runs } : null;
    }
    const run = await findRun(services, target.id);
    return run.id === target.id ? { target, squad: { id: run.squadId, metadata: null }, runs: [run] } : null;
  } catch (thrown) {
    if (thrown instanceof SquadError && /^(RUN|SQUAD)_UNKNOWN$/.test(thrown.code)) return null;
    throw thrown;
  }
}

/** The result that the call would have returned if it had waited. */
function result(services: Services, { target, squad, runs }: Found, how: ResultOptions) {
  // A stored task does not record which tool started it. The tool that is assumed returns results of the same shape.
  const options = { ...how, tool: how.tool ?? TOOLS[target.shape] };
  if (target.shape === 'run') return runResult(services, runs[0]!, options);
  if (target.shape === 'members') return squadResult(services, { id: squad.id }, runs, options);
  return parallelResult(services, squad.id, runs, {
    aggregates: target.shape === 'aggregate',
    tool: options.tool,
  });
}

const TOOLS: Readonly<Record<TaskTarget['shape'], string>> = {
  run: 'spawn_agent',
  members: 'start_squad_members',
  results: 'spawn_parallel',
  aggregate: 'spawn_parallel',
};
