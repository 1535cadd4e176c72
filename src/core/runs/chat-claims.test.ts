import { expect, test } from 'vitest';
import { ChatClaims } from './admission.ts';
import type { LiveRun } from './live-run.ts';

const holder = { run: { id: 'run_0000000001' }, chats: new Set(['held']) } as unknown as LiveRun;
const claims = () => new ChatClaims(() => [holder]);
const busy = (message: string) => expect.objectContaining({ code: 'CHAT_BUSY', message });

test('the chat of a running run is busy, and the error names it', () => {
  expect(() => claims().claim(['held'])).toThrow(busy('Chat held is in use by run run_0000000001'));
});

test('a claimed chat is busy until it is released', () => {
  const chats = claims();
  const letGo = chats.claim(['a', 'b']);
  expect(() => chats.claim(['b'])).toThrow(busy('Chat b is in use by another call'));
  letGo();
  chats.claim(['b']);
});

test('if one chat is busy, none is claimed', () => {
  const chats = claims();
  expect(() => chats.claim(['a', 'held'])).toThrow();
  chats.refuseBusy('a');
});
