import { expect, test } from 'vitest';
import { nextStep } from './next-step.ts';

const failed = (code: string, engine = 'claude') => ({ id: 'run_1', engine, error: { code, message: 'no' } });
const logins = new Map([['claude', 'Run `claude` and log in.']]);

test('a missing login names the login command, the guide and the retry', () => {
  expect(nextStep(failed('ENGINE_NOT_LOGGED_IN'), logins)).toBe(
    'Run `claude` and log in. Set-up: https://github.com/squad-mcp/squad/blob/main/docs/guides/engines/claude.md. Then: squad retry run_1',
  );
  expect(nextStep(failed('ENGINE_NOT_LOGGED_IN', 'mine'), logins)).toBe(
    'Log in to this engine, or set its API key. Then: squad retry run_1',
  );
});

test.each([
  ['ENGINE_RATE_LIMITED', 'squad retry run_1'],
  ['BUDGET_EXCEEDED', 'https://github.com/squad-mcp/squad/blob/main/docs/guides/cost.md'],
  ['STALLED', '`stall`'],
  ['OUTPUT_MISMATCH', 'squad show run_1'],
  ['CHAT_UNKNOWN', 'chat'],
])('%s has a next step of its own', (code, words) => {
  expect(nextStep(failed(code), logins)).toContain(words);
});

test('other errors have no next step besides the log', () => {
  expect(nextStep(failed('ENGINE_FAILED'), logins)).toBeNull();
  expect(nextStep({ id: 'run_1', engine: 'claude', error: null }, logins)).toBeNull();
});
