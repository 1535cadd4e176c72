import { expect, test } from 'vitest';
import { parallelTaskId, taskTarget } from './spawn-parallel.ts';

test('a task id leads back to what was promised', () => {
  expect(taskTarget('run_abc123')).toEqual({ id: 'run_abc123', shape: 'run' });
  expect(taskTarget('squad_abc123')).toEqual({ id: 'squad_abc123', shape: 'members' });
  expect(taskTarget(parallelTaskId('squad_abc123', false))).toEqual({ id: 'squad_abc123', shape: 'results' });
  expect(taskTarget(parallelTaskId('squad_abc123', true))).toEqual({
    id: 'squad_abc123',
    shape: 'aggregate',
  });
});

test.each(['', 'run_', 'run_abc.results', 'squad_abc.else', 'squad_abc/..', ' run_abc', 'task_abc'])(
  '%j is no task of ours',
  id => {
    expect(taskTarget(id)).toBeNull();
  },
);
