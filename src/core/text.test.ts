import { describe, expect, it } from 'vitest';
import { checkTask, checkText, lastLine } from './text.ts';

describe('checkTask', () => {
  it.each(['', ' ', '\n\t \r\n', '\u00a0'])('refuses the blank task %j', task => {
    expect(() => checkTask(task)).toThrow(expect.objectContaining({ code: 'TASK_EMPTY' }));
  });

  it.each(['x', '--flag', '$(rm -rf /)', '`"\'', 'żółć 🎉 日本', 'a\r\nb', '\u0007'])(
    'takes %j as it is',
    task => {
      expect(() => checkTask(task)).not.toThrow();
    },
  );

  it('takes five megabytes', () => {
    expect(() => checkTask('é'.repeat(5_000_000))).not.toThrow();
  });

  it('names where a NUL is', () => {
    expect(() => checkTask('one\ntw\0o')).toThrow(
      expect.objectContaining({
        code: 'INVALID_TEXT',
        message: 'The task contains a NUL character at line 2, column 3.',
      }),
    );
  });

  it.each([
    ['a\ud83d', 'line 1, column 2'],
    ['🎉\udf89', 'line 1, column 3'],
    ['ok\n\n\ud83d\ud83d\udf89', 'line 3, column 1'],
  ])('names where half a character is in %j', (task, place) => {
    expect(() => checkTask(task)).toThrow(
      expect.objectContaining({
        code: 'INVALID_TEXT',
        message: `The task contains half of a surrogate pair at ${place}.`,
      }),
    );
  });

  it('calls other text by its own name', () => {
    expect(() => checkText('\0', 'The cwd')).toThrow('The cwd contains a NUL character at line 1, column 1.');
  });
});

describe('lastLine', () => {
  it.each([
    ['chat-1\n', 'chat-1'],
    ['Creating…\nid: none\n  chat-2  \n\n \n', 'chat-2'],
    ['a\r\nchat-3\r\n', 'chat-3'],
    ['chat-4', 'chat-4'],
    ['', null],
    ['\n \n', null],
  ])('of %j is %j', (output, expected) => {
    expect(lastLine(output)).toBe(expected);
  });
});
