import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Face } from '../face/face.ts';
import type { FaceServer } from '../face/face-server.ts';
import type { TaskState } from '../face/face-tasks.ts';
import { asProtocolError, invalidParams } from '../face/protocol-errors.ts';
import { renderedResult } from '../face/tool-result.ts';

const byId = z.object({ taskId: z.string() });

/** The tasks of revision 2025-11-25. A request asks for one with `task` in its params. */
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
      // The answer has to say `cancelled`, which is true only once the work has stopped.
      return legacyTask(known(await tasks.wait(taskId, call), taskId));
    }),
  );
}

/** The SDK lets no result of `tools/call` pass without content. */
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

/** In this revision a tool call with `isError` is a failed task. */
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
