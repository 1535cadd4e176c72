import { expect, test } from 'vitest';
import { failureKind } from './failure-kind.ts';

test.each([
  ['[API Error: 401 scripted]', 'ENGINE_NOT_LOGGED_IN'],
  ['Missing environment variable: `OPENAI_API_KEY`.', 'ENGINE_NOT_LOGGED_IN'],
  ['No auth type is selected.', 'ENGINE_NOT_LOGGED_IN'],
  ['exceeded retry limit, last status: 429 Too Many Requests', 'ENGINE_RATE_LIMITED'],
  ['You have hit your usage limit', 'ENGINE_RATE_LIMITED'],
  ['API Error: 529 Overloaded. This is a server-side issue', 'ENGINE_RATE_LIMITED'],
  ['The API answered 529: try later', 'ENGINE_RATE_LIMITED'],
  ['Last error: 503 The model is overloaded. Please try again later.', 'ENGINE_RATE_LIMITED'],
  ['{"type":"error","error":{"type":"overloaded_error"}}', 'ENGINE_RATE_LIMITED'],
  ['stream error: server_is_overloaded', 'ENGINE_RATE_LIMITED'],
  ["Missing API key for OpenAI-compatible auth. Set the 'OPENAI_API_KEY' variable.", 'ENGINE_NOT_LOGGED_IN'],
  ["Anthropic API key is missing. Pass it using the 'apiKey' parameter.", 'ENGINE_NOT_LOGGED_IN'],
  ['No API key was given', 'ENGINE_NOT_LOGGED_IN'],
  ['The OPENAI_API_KEY environment variable is missing or empty', 'ENGINE_NOT_LOGGED_IN'],
  ['Missing credentials. Please pass an `apiKey`.', 'ENGINE_NOT_LOGGED_IN'],
  ['The API answered 400: API key not valid. Please pass a valid API key.', 'ENGINE_NOT_LOGGED_IN'],
  ['Incorrect API key provided: x', 'ENGINE_NOT_LOGGED_IN'],
  ['invalid x-api-key', 'ENGINE_NOT_LOGGED_IN'],
  ['No saved session found with ID 1', 'CHAT_UNKNOWN'],
  ['thread/resume failed: no rollout found for thread id 1', 'CHAT_UNKNOWN'],
  ['HTTP 500 from the server', 'ENGINE_FAILED'],
  ['it wrote 401 lines and 429 bytes', 'ENGINE_FAILED'],
  ['', 'ENGINE_FAILED'],
])('%j is %s', { tags: ['A10'] }, (words, kind) => expect(failureKind(words)).toBe(kind));

test('a status that is known outranks the words', () => {
  expect(failureKind('error 401 in the text', 500)).toBe('ENGINE_FAILED');
  expect(failureKind('busy', 529)).toBe('ENGINE_RATE_LIMITED');
});
