import { expect, test } from 'vitest';
import type { Run } from '../../schema/run.ts';
import type { Subagent } from '../../schema/subagent.ts';
import { subagentFailure } from './run-subagent.ts';

const subagent = { name: 'review', file: '/repo/review.subagent.yaml' } as Subagent;
const ended = (more: Partial<Run>) =>
  subagentFailure({ id: 'run_0123456789', ...more } as Run, subagent, {
    stoppedBy: null,
    hasConversation: false,
  });

test('a timeout names the key that allows more, as the file spells it', () => {
  const { code, suggestions } = ended({ status: 'timeout', error: null, startedAt: 1 });
  expect(code).toBe('TIMEOUT');
  expect(suggestions![0]).toContain('`defaults.timeout` in /repo/review.subagent.yaml');
});

test('a timeout in the queue says so, and how to get more slots', () => {
  const { code, message, suggestions } = ended({ status: 'timeout', error: null, startedAt: null });
  expect({ code, message }).toEqual({
    code: 'TIMEOUT',
    message: 'review had not started within its time limit',
  });
  expect(suggestions![0]).toContain('limits.concurrency');
  expect(suggestions![0]).toContain('`defaults.timeout` in /repo/review.subagent.yaml');
});

test('unreadable input files come with their own suggestion', () => {
  const message = 'The input "a" is a folder. Name the files in it.';
  const failure = ended({ status: 'error', error: { code: 'INPUT_UNREADABLE', message } });
  expect(failure).toMatchObject({ code: 'INPUT_UNREADABLE', message });
  expect(failure.suggestions).toEqual([expect.stringContaining('squad log run_0123456789')]);
});
