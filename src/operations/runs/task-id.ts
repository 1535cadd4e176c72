/**
 * A task is known by the id of what it waits for. What `spawn_parallel` promised differs from what `start_squad_members`
 * did, and whoever asks later, of any hub, must get what was promised: so the id says it.
 */
export interface TaskTarget {
  /** A run's or a squad's. */
  id: string;
  shape: 'members' | 'results' | 'aggregate' | 'run';
}

export const parallelTaskId = (squadId: string, aggregates: boolean): string =>
  `${squadId}.${aggregates ? 'aggregate' : 'results'}`;

/** Null for what no task of ours is called. */
export function taskTarget(taskId: string): TaskTarget | null {
  const [, id, kind, suffix] = /^((run|squad)_[0-9a-z]+)(?:\.(results|aggregate))?$/.exec(taskId) ?? [];
  if (id === undefined || (kind === 'run' && suffix !== undefined)) return null;
  if (kind === 'run') return { id, shape: 'run' };
  return { id, shape: (suffix as 'results' | 'aggregate' | undefined) ?? 'members' };
}
