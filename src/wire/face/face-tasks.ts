import {
  type CallToolResult,
  type CreateTaskResult,
  type InputRequests,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Call, Face, FinalToolResult } from './face.ts';
import type { FaceServer } from './face-server.ts';
import { asProtocolError, invalidParams } from './protocol-errors.ts';
import { renderedResult } from './tool-result.ts';

/** Tasks of revision 2025-11-25. A request asks for a task with `task` in its params. */
export const LEGACY_TASKS = { cancel: {}, requests: { tools: { call: {} } } };

export function serveLegacyTasks(server: FaceServer, tasks: NonNullable<Face['tasks']>): void {
  server.setRequestHandler('tasks/get', { params: byId }, ({ taskId }, ctx) =>
    server.call(ctx, async call => legacyTask(known(await tasks.get(taskId, call), taskId))),
  );

  server.setRequestHandler('tasks/result', { params: byId }, ({ taskId }, ctx) =>
    server.call(ctx, async call => ({
      ...resultOf(known(await tasks.wait(taskId, call), taskId)),
      _meta: { [RELATED_TASK_META_KEY]: { taskId } },
    })),
  );

  server.setRequestHandler('tasks/cancel', { params: byId }, ({ taskId }, ctx) =>
    server.call(ctx, async call => {
      const { status } = legacyTask(known(await tasks.get(taskId, call), taskId));
      if (status !== 'working' && status !== 'input_required')
        throw invalidParams(`Task ${taskId} is already ${status}`);
      await tasks.cancel(taskId, call);
      // The answer must have the status `cancelled`, so wait until the work has stopped.
      return legacyTask(known(await tasks.wait(taskId, call), taskId));
    }),
  );
}

/** The SDK requires content in every result of `tools/call`. */
export const legacyTaskCreated = (task: TaskState) => ({ content: [], task: legacyTask(task) });

/** Refuses `task` in a call of a tool that does not list `execution.taskSupport`. */
export const noTaskSupport = (tool: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.MethodNotFound, `${tool} cannot be called as a task`);

function legacyTask(task: TaskState) {
  return {
    taskId: task.id,
    status: legacyStatus(task),
    ...(task.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.lastUpdatedAt).toISOString(),
    ttl: task.ttlMs,
    ...(task.pollIntervalMs !== undefined && { pollInterval: task.pollIntervalMs }),
  };
}

/** Status of a task in the older revision, in which a tool call with `isError` is a failed task. */
function legacyStatus(task: TaskState): TaskState['status'] {
  return task.status === 'completed' && renderedResult(task.result).isError ? 'failed' : task.status;
}

function resultOf(task: TaskState): CallToolResult {
  if (task.status === 'completed') return renderedResult(task.result);
  if (task.status === 'failed') throw asProtocolError(task.error);
  throw invalidParams(`Task ${task.id} was ${task.status} and has no result`);
}

function known(task: TaskState | null, taskId: string): TaskState {
  if (task === null) throw invalidParams(`Unknown task: ${taskId}`);
  return task;
}

/** Tasks of the extension of revision 2026-07-28. */
export const TASKS = 'io.modelcontextprotocol/tasks';

const byId = z.object({ taskId: z.string() });

export function serveTasks(server: FaceServer, tasks: NonNullable<Face['tasks']>): void {
  if (server.era === 'modern') serveModernTasks(server, tasks);
  else serveLegacyTasks(server, tasks);
}

function serveModernTasks(server: FaceServer, tasks: NonNullable<Face['tasks']>): void {
  server.setRequestHandler('tasks/get', { params: byId }, ({ taskId }, ctx) =>
    asked(ctx, async call => {
      const task = await tasks.get(taskId, call);
      if (task === null) throw unknownTask(taskId);
      return { ...header(task), ...payload(task) };
    }),
  );

  server.setRequestHandler('tasks/cancel', { params: byId }, ({ taskId }, ctx) =>
    asked(ctx, async call => {
      if (!(await tasks.cancel(taskId, call))) throw unknownTask(taskId);
      return {};
    }),
  );

  server.setRequestHandler('tasks/update', { params: byId }, ({ taskId }, ctx) =>
    asked(ctx, async call => {
      // The SDK removes the answers from the params for every method.
      const responses = ctx.mcpReq.inputResponses;
      if (responses === undefined) throw invalidParams('Invalid params for tasks/update: no inputResponses');
      // A face that asks no questions ignores the answers.
      const known = tasks.answer
        ? await tasks.answer(taskId, responses, call)
        : (await tasks.get(taskId, call)) !== null;
      if (!known) throw unknownTask(taskId);
      return {};
    }),
  );

  function asked<T>(ctx: ServerContext, run: (call: Call) => Promise<T>): Promise<T> {
    return server.call(ctx, call => {
      if (!call.acceptsTasks) throw tasksNotAccepted();
      return run(call);
    });
  }
}

/** The answer to a call that continues as an MCP task. */
export function taskCreated(task: TaskState, call: Call): CreateTaskResult {
  if (!call.acceptsTasks) throw tasksNotAccepted();
  if (call.era === 'legacy') return legacyTaskCreated(task);
  return { resultType: 'task', ...header(task) } as unknown as CreateTaskResult;
}

function header(task: TaskState) {
  return {
    taskId: task.id,
    status: task.status,
    ...(task.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.lastUpdatedAt).toISOString(),
    ttlMs: task.ttlMs,
    ...(task.pollIntervalMs !== undefined && { pollIntervalMs: task.pollIntervalMs }),
  };
}

function payload(task: TaskState) {
  switch (task.status) {
    case 'input_required':
      return { inputRequests: task.inputRequests };
    case 'completed':
      return { result: renderedResult(task.result) };
    case 'failed': {
      const { code, message, data } = asProtocolError(task.error);
      return { error: { code, message, ...(data !== undefined && { data }) } };
    }
    default:
      return {};
  }
}

const unknownTask = (taskId: string) => invalidParams(`Unknown task: ${taskId}`);

const tasksNotAccepted = () =>
  new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });

interface TaskFacts {
  id: string;
  /** One line about the progress of the task, for the user and the model. */
  statusMessage?: string;
  /** Creation time in milliseconds since 1970. `lastUpdatedAt` uses the same unit. */
  createdAt: number;
  lastUpdatedAt: number;
  /** How long after its creation the task can be queried. Null means without limit. */
  ttlMs: number | null;
  pollIntervalMs?: number;
}

/**
 * An MCP task: work that continues after its call was answered. Failed work has the status `completed`, with a result
 * that is an error.
 */
export type TaskState = TaskFacts &
  (
    | { status: 'working' | 'cancelled' }
    | { status: 'input_required'; inputRequests: InputRequests }
    | { status: 'completed'; result: FinalToolResult }
    /** The error that the call would have thrown; there is no result. */
    | { status: 'failed'; error: unknown }
  );
