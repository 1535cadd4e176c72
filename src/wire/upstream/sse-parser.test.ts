import { describe, expect, test } from 'vitest';
import { type SseEvent, SseParser } from './sse.ts';

function parse(text: string, chunkBytes: number) {
  const events: SseEvent[] = [];
  const parser = new SseParser(1000, event => events.push(event));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) parser.push(bytes.subarray(at, at + chunkBytes));
  return { events, parser };
}

describe.each([1, 2, 3, 1000])('in pieces of %i bytes', chunkBytes => {
  test.each(['\n', '\r\n', '\r'])('events are cut at blank lines that end with %j', end => {
    const lines = [
      '\uFEFF: hello',
      'event: endpoint',
      'data: /é€😀',
      '',
      'data:one',
      'data:  two',
      'data',
      'id: 7',
      '',
    ];
    const { events, parser } = parse([...lines, '', 'retry: 5', 'data: x', ''].join(end) + end, chunkBytes);
    expect(events).toEqual([
      { type: 'endpoint', data: '/é€😀' },
      { type: 'message', data: 'one\n two\n' },
      { type: 'message', data: 'x' },
    ]);
    expect(parser).toMatchObject({ lastEventId: '7', retryMs: 5 });
  });

  test('an event that was cut off is none', () => {
    expect(parse('data: a\n\ndata: b\n', chunkBytes).events).toEqual([{ type: 'message', data: 'a' }]);
  });

  test('an event over the limit is refused, in one line or in many', () => {
    expect(() => parse(`data: ${'x'.repeat(1000)}`, chunkBytes)).toThrow('1000 bytes');
    expect(() => parse('data:\n'.repeat(100), chunkBytes)).toThrow('1000 bytes');
    expect(() => parse('event: x\n'.repeat(100), chunkBytes)).toThrow('1000 bytes');
  });

  test('comments and small events may go on for ever', () => {
    expect(parse(`${': still here\n'.repeat(500)}data: a\n\n`.repeat(3), chunkBytes).events).toHaveLength(3);
  });
});

test('ids that cannot be sent back are no ids', () => {
  expect(parse('id: a\0b\n\nid: é\n\n', 1000).parser.lastEventId).toBeNull();
});
