import { appendFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliProfile } from './cli-profiles.ts';
import { TurnPlace } from './testing/turn.ts';

const CHAT = '01a1e3c6-de72-7d91-ba9d-2528f5e313a7';
/** Where each CLI keeps the record of that chat, below the user's home. */
const RECORDS = {
  codex: `.codex/sessions/2026/11/16/rollout-2026-11-16T09-53-43-${CHAT}.jsonl`,
  copilot: `.copilot/session-state/${CHAT}/events.jsonl`,
  qwen: `.qwen/projects/-home-me-work/chats/${CHAT}.jsonl`,
} as const;

describe.each(Object.entries(RECORDS))('the mark of a chat of %s', (cli, path) => {
  const { chatMark } = cliProfile(cli as keyof typeof RECORDS);

  test('changes when the chat is used, and only then', async () => {
    using place = new TurnPlace();
    const chat = { chatId: CHAT, env: { HOME: place.home } };
    expect(await chatMark!(chat)).toBeNull();
    const record = place.inHome(path, '{}\n');
    const before = await chatMark!(chat);
    expect(before).not.toBeNull();
    expect(await chatMark!(chat)).toBe(before);
    appendFileSync(record, '{}\n');
    expect(await chatMark!(chat)).not.toBe(before);
  });

  test('is none for what is no id of a chat', async () => {
    using place = new TurnPlace();
    expect(await chatMark!({ chatId: '../../etc', env: { HOME: place.home } })).toBeNull();
  });
});
