import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openStatusBlock } from './status-block.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('lines stay above; the block is drawn below and removed at the end', () => {
  const terminal = fakeTerminal();
  const block = openStatusBlock(terminal, () => ['one', 'two']);
  expect(terminal.screen()).toEqual(['one', 'two']);
  block.append('first');
  block.append('second');
  vi.advanceTimersByTime(100);
  expect(terminal.screen()).toEqual(['first', 'second', 'one', 'two']);
  block.close();
  expect(terminal.screen()).toEqual(['first', 'second', '']);
});

test('a line appended just before or after the end is not lost', () => {
  const terminal = fakeTerminal();
  const block = openStatusBlock(terminal, () => ['live']);
  block.append('before');
  block.close();
  block.append('after');
  block.close();
  expect(terminal.screen()).toEqual(['before', 'after', '']);
});

test('many changes cause at most ten frames a second, each written at once', () => {
  const terminal = fakeTerminal();
  let count = 0;
  const block = openStatusBlock(terminal, () => [`${count}`]);
  for (; count < 1_000; count++) {
    block.append(`line ${count}`);
    block.changed();
    vi.advanceTimersByTime(1);
  }
  expect(terminal.writes.length).toBeLessThanOrEqual(11);
  block.close();
  expect(terminal.screen()).toEqual([...Array.from({ length: 1_000 }, (_, index) => `line ${index}`), '']);
  for (const write of terminal.writes) {
    expect(write.startsWith('\u001b[?2026h') && write.endsWith('\u001b[?2026l')).toBe(true);
    expect(write).not.toContain('?1049');
  }
});

test('elapsed times advance without events, and an unchanged block is not redrawn', () => {
  const terminal = fakeTerminal();
  let seconds = 0;
  const block = openStatusBlock(terminal, () => [`${seconds}s`]);
  vi.advanceTimersByTime(2_000);
  expect(terminal.writes).toHaveLength(1);
  seconds = 1;
  vi.advanceTimersByTime(300);
  expect(terminal.screen()).toEqual(['1s']);
  block.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('block lines never fill the last column, and a tall block keeps its last lines', () => {
  const terminal = fakeTerminal({ columns: 10, rows: 4 });
  openStatusBlock(terminal, () => ['lost', 'b', 'c', 'exactly ten']);
  expect(terminal.screen()).toEqual(['b', 'c', 'exactly …']);
});

test('wrapped lines of a narrowed window are all erased', () => {
  const terminal = fakeTerminal({ columns: 40 });
  const block = openStatusBlock(terminal, () => ['a line of thirty columns or so', 'short']);
  block.append('stays');
  vi.advanceTimersByTime(100);
  terminal.writes.length = 0;
  terminal.columns = 20;
  vi.advanceTimersByTime(250);
  // The first line takes two rows now, so the block begins two rows above its last one.
  expect(terminal.writes[0]).toContain('\r\u001b[2A\u001b[J');
});

test('without a terminal it only appends plain lines', () => {
  const terminal = fakeTerminal({ isTTY: false });
  const block = openStatusBlock(terminal, () => ['live']);
  block.append('one');
  block.changed();
  vi.advanceTimersByTime(1_000);
  block.append('two');
  block.close();
  expect(terminal.writes).toEqual(['one\n', 'two\n']);
  expect(vi.getTimerCount()).toBe(0);
});

const ESC = '\u001b';
const TOKENS = new RegExp(
  `${ESC}\\[\\?2026[hl]|${ESC}\\[(\\d+)A|${ESC}\\[J|\\r|\\n|[^${ESC}\\r\\n]+|.`,
  'gu',
);

/** Understands what the block may send and nothing else, so that anything else fails the test. */
function fakeTerminal(options: { isTTY?: boolean; columns?: number; rows?: number } = {}) {
  const writes: string[] = [];
  return {
    ...{ isTTY: true, columns: 80, rows: 24, color: false, ...options },
    writes,
    write: (text: string) => void writes.push(text),
    screen() {
      const lines = [''];
      let row = 0;
      for (const [token, up] of writes.join('').matchAll(TOKENS)) {
        if (up) row -= Number(up);
        else if (token === '\n') lines[++row] ??= '';
        else if (token === '\u001b[J') lines.splice(row, lines.length, '');
        else if (token !== '\r' && !token.startsWith('\u001b[?2026')) {
          expect(token).not.toContain('\u001b');
          lines[row] += token;
        }
      }
      return lines;
    },
  };
}
