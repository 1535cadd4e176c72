import { expect, test } from 'vitest';
import { failureKind } from './failure-kind.ts';

test.each([
  ['[API Error: 401 scripted]', 'ENGINE_NOT_LOGGED_IN'],
  ['Missing environment variable: `OPENAI_API_KEY`.', 'ENGINE_NOT_LOGGED_IN'],
  ['No auth type is selected.', 'ENGINE_NOT_LOGGED_IN'],
  ['exceeded retry limit, last status: 429 Too Many Requests', 'ENGINE_RATE_LIMITED'],
  ['You have hit your usage limit', 'ENGINE_RATE_LIMITED'],
  ['No saved session found with ID 1', 'CHAT_UNKNOWN'],
  ['thread/resume failed: no rollout found for thread id 1', 'CHAT_UNKNOWN'],
  ['HTTP 500 from the server', 'ENGINE_FAILED'],
  ['it wrote 401 lines and 429 bytes', 'ENGINE_FAILED'],
  ['', 'ENGINE_FAILED'],
])('%j is %s', (words, kind) => expect(failureKind(words)).toBe(kind));

test('a status that is known outranks the words', () => {
  expect(failureKind('error 401 in the text', 500)).toBe('ENGINE_FAILED');
});
