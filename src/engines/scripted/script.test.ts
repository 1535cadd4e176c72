import { describe, expect, test } from 'vitest';
import { quantity, scriptForTurn, scriptIn, toolCall } from './script.ts';

const fenced = (script: string) => `Do this.\n\n\`\`\`script\n${script}\n\`\`\`\n\nThen stop.`;

describe('a script in a prompt', () => {
  test('is its fenced block, verbs with their words and bodies', () => {
    expect(scriptIn(fenced('say hello there\n\n# a remark\nwrite a/b.txt\n| one\n|  two\n|'))).toEqual([
      { verb: 'say', rest: 'hello there', body: '' },
      { verb: 'write', rest: 'a/b.txt', body: 'one\n two\n\n' },
    ]);
  });

  test('is not there without a block', () => {
    expect(scriptIn('just words, ```js\nsay x\n```')).toBeNull();
  });

  test("a task's comes after its role's and is the one that counts", () => {
    expect(scriptIn(fenced('say role') + fenced('say task'))).toMatchObject([{ rest: 'task' }]);
  });

  test('with an unknown verb is refused with its line and the verbs there are', () => {
    expect(() => scriptIn(fenced('say a\ndance'))).toThrow(
      expect.objectContaining({
        code: 'SCRIPT_INVALID',
        message: 'Line 2 of the script: there is no verb "dance"',
      }),
    );
    expect(() => scriptIn(fenced('| lost'))).toThrow('needs a verb above it');
  });
});

describe('the script of a turn', () => {
  const forTurn = (turn: number, script: string) => `\n\`\`\`script turn ${turn}\n${script}\n\`\`\`\n`;

  test('may stand in an earlier prompt of the chat, and comes before what the newest says', () => {
    const task = fenced('say first') + forTurn(2, 'say second') + forTurn(3, 'say third');
    expect(scriptForTurn([task])).toMatchObject([{ rest: 'first' }]);
    expect(scriptForTurn([task, 'Please go on.'])).toMatchObject([{ rest: 'second' }]);
    expect(scriptForTurn([task, 'Please go on.', fenced('say other')])).toMatchObject([{ rest: 'third' }]);
  });

  test('is the plain one of the newest prompt where no block is for that turn', () => {
    expect(scriptForTurn([fenced('say first'), fenced('say second')])).toMatchObject([{ rest: 'second' }]);
    expect(scriptForTurn([fenced('say first'), 'Please go on.'])).toBeNull();
  });
});

test.each([
  ['200ms', 200],
  ['1.5s', 1500],
  ['2m', 120_000],
  ['10MB', 10 * 1024 ** 2],
  ['1gb', 1024 ** 3],
  ['50', 50],
])('%s is %d', (given, value) => {
  expect(quantity(given)).toBe(value);
});

test('nonsense is no quantity', () => {
  expect(() => quantity('soon')).toThrow(expect.objectContaining({ code: 'SCRIPT_INVALID' }));
});

test('a call names a tool and its arguments, if it takes any', () => {
  expect(toolCall('squad_status')).toEqual({ tool: 'squad_status', args: {} });
  expect(toolCall('get_result {"spawn_id": "x y"}')).toEqual({
    tool: 'get_result',
    args: { spawn_id: 'x y' },
  });
});

test.each(['call', 'call x {', 'call x [1]', 'call x null', 'call x words'])(
  '%j is refused before anything starts',
  line => {
    expect(() => scriptIn(fenced(line))).toThrow(expect.objectContaining({ code: 'SCRIPT_INVALID' }));
  },
);
