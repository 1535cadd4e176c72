import { expect, test } from 'vitest';
import { flatError, SquadError, toolError } from './error.ts';

test('an error is one level, with what belongs to it, and nothing of that takes the place of what every error has', () => {
  const details = { current_iteration: 3, max_iterations: 3, code: 'other' };
  const error = new SquadError('REVIEW_LIMIT_EXCEEDED', 'No more', { suggestions: ['Stop'], details });
  expect(flatError(error.toShape(), 'request_review', 'run_0123456789')).toEqual({
    ...{ error: 'REVIEW_LIMIT_EXCEEDED', code: 'REVIEW_LIMIT_EXCEEDED', message: 'No more' },
    ...{ tool_name: 'request_review', instance_id: 'run_0123456789', suggestions: ['Stop'] },
    ...{ current_iteration: 3, max_iterations: 3 },
  });
});

test('an error of any other tool names the tool, and the run that called it', { tags: ['D7'] }, () => {
  const error = new SquadError('ROLE_UNKNOWN', 'No such role', { suggestions: ['list_roles'] }).toShape();
  expect(toolError(error, 'spawn_agent', 'run_0123456789')).toEqual({
    error: { ...error, tool_name: 'spawn_agent', instance_id: 'run_0123456789' },
  });
  expect(toolError(error, 'spawn_agent', undefined)).toEqual({
    error: { ...error, tool_name: 'spawn_agent' },
  });
});

test('unknown fields are left out', () => {
  expect(flatError(new SquadError('INTERNAL', 'A bug').toShape(), 'send_feedback', undefined)).toEqual({
    ...{ error: 'INTERNAL', code: 'INTERNAL', message: 'A bug', tool_name: 'send_feedback' },
  });
});
