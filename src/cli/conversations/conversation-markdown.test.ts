import { expect, test } from 'vitest';
import type { StoredMessage } from '../../schema/conversation.ts';
import { messageMarkdown } from './export.ts';

test.each([
  { what: 'one longer than all of its ticks', text: 'a ```` b `c`', fence: '`````' },
  { what: 'also of a text with very many ticks', text: '`a` '.repeat(200_000), fence: '```' },
])('foreign text is fenced: $what', ({ text, fence }) => {
  const content = [{ type: 'text' as const, text }];
  const message = { id: 'm', parentId: null, role: 'assistant', at: 0, content } as unknown as StoredMessage;
  const [head, ...rest] = messageMarkdown(message).split('\n');
  expect(head).toBe('## assistant, 1970-01-01T00:00:00.000Z');
  expect(rest).toEqual(['', `${fence}text`, text.trimEnd(), fence]);
});
