import { expect, test } from 'vitest';
import type { StoredMessage, TracePart, TraceRole } from '../../schema/conversation.ts';
import { createStyle } from '../terminal/style.ts';
import { ConversationLines, messageMarkdown } from './conversation.ts';

const said = (id: string, parentId: string | null, role: TraceRole, ...content: TracePart[]): StoredMessage =>
  ({ id, parentId, role, content, at: 0, runId: 'run_1', label: 'run:run_1' }) as StoredMessage;

/** A turn of the model that runs a program, which calls one tool. Calls have the same numbers in each. */
function turn(n: number): StoredMessage[] {
  const inside = { id: 'call_0.1', name: 'docs__ask', within: 'call_0', at: n };
  const program = { id: 'call_0', name: 'run_program' };
  return [
    said(`a${n}`, n === 1 ? null : `t${n - 1}`, 'assistant', { type: 'tool_call', ...program, input: {} }),
    said(
      ...([`p${n}`, `a${n}`, 'program'] as const),
      { type: 'tool_call', ...inside, input: { n } },
      { type: 'tool_result', ...inside, output: `answer ${n}`, isError: false },
      { type: 'more_calls', within: 'call_0', calls: n + 1, failed: 0 },
    ),
    said(`t${n}`, `a${n}`, 'tool', { type: 'tool_result', ...program, output: 'ok', isError: false }),
  ];
}

test('calls of a program stand below its own call, even if call ids restart in each turn', () => {
  const messages = [...turn(1), ...turn(2)];
  const look = { columns: 80, style: createStyle(false), isFull: false };
  const lines = new ConversationLines(messages, [], look);
  const below = (message: StoredMessage) => lines.of(message).slice(1);
  const program = (n: number) => [
    '  → run_program {}',
    `    → docs__ask {"n":${n}}`,
    '    ← docs__ask',
    `      answer ${n}`,
    `    … ${n + 1} more calls: not kept`,
    '',
  ];
  const result = ['  ← run_program', '    ok', ''];
  expect(messages.map(below)).toEqual([program(1), [], result, program(2), [], result]);
});

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
