import { SquadError } from '../../schema/error.ts';
import type { Face } from '../face/face.ts';
import type { TaskState } from '../face/face-tasks.ts';

/** State of each task. The test keeps it, as a store would; the protocol layer keeps none. */
export type TaskTable = Map<string, TaskState>;

export const task = (id: string): TaskState => ({
  id,
  status: 'working',
  statusMessage: 'Reading the code',
  createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  lastUpdatedAt: Date.UTC(2026, 0, 2, 3, 4, 6),
  ttlMs: null,
  pollIntervalMs: 3000,
});

/**
 * A face with two tools. `run` becomes a task if the client allows it. `stubborn` always becomes a task, which no face
 * should do.
 */
export function taskFace(table: TaskTable): Face {
  return {
    info: { name: 'tasks', version: '0' },
    tools: {
      list: async () => [],
      call: async (name, args, call) => {
        if (name !== 'run' && name !== 'stubborn') return null;
        if (name === 'run' && !call.acceptsTasks) return { structured: { waited: true } };
        const started = task(String(args.id));
        table.set(started.id, started);
        return { task: started };
      },
    },
    tasks: {
      get: async id => table.get(id) ?? null,
      wait: async id => table.get(id) ?? null,
      cancel: async id => {
        const known = table.get(id);
        if (known) table.set(id, { ...known, status: 'cancelled' });
        return known !== undefined;
      },
    },
  };
}

export const broken = (id: string): TaskState => ({
  ...task(id),
  status: 'failed',
  error: new SquadError('DISK_FULL', 'No space for the run.'),
});
