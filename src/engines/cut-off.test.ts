import { expect, test } from 'vitest';
import { cutOffNote } from './cut-off.ts';

test.each([
  ['max_tokens', 'output limit'],
  ['length', 'output limit'],
  ['Output token limit hit. Resume directly — no apology, no recap', 'output limit'],
  ['Model response was truncated because it exceeded the token limit.', 'output limit'],
  ['Reconnecting... 1/1 (Incomplete response returned, reason: content_filter)', 'content filter'],
  ["Opus 5.5's safeguards stopped the response above", 'content filter'],
  ['Your response above was stopped by a safety classifier', 'content filter'],
  ['The model response was blocked due to safety settings.', 'content filter'],
  ['content-filter', 'content filter'],
  ['refusal', 'content filter'],
])('%s: %s', (message, about) => {
  expect(cutOffNote(message)).toEqual([
    { type: 'note', text: expect.stringContaining(about), isForResult: true },
  ]);
});

test.each([null, '', 'end_turn', 'stop', 'tool_use', 'Reconnecting... 1/5', 'the length of the list'])(
  '%s is no cut',
  message => expect(cutOffNote(message)).toEqual([]),
);
