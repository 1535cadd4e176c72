import { expect, test } from 'vitest';
import { aRun, aSquad } from '../../store/fixtures/sample-rows.ts';
import { closingOfEnded } from './rounds.ts';

const ended = aRun(aSquad(), { status: 'completed' });

test('a reviewer that ended without a word says why, where its last call was refused', () => {
  expect(closingOfEnded(ended)).toEqual({
    outcome: 'no_feedback',
    reason: 'The reviewer ended without feedback or a pull request.',
  });
  const refused = { tool: 'create_pull_request', code: 'GITHUB_TOKEN_MISSING' };
  expect(closingOfEnded(ended, refused).reason).toBe(
    'The reviewer ended without feedback or a pull request. Its create_pull_request was refused (GITHUB_TOKEN_MISSING).',
  );
});
