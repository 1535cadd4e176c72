import { expect, test } from 'vitest';
import { shortDetails } from './ask.ts';

const permission = { kind: 'permission' as const, question: 'Claude Code wants to run: Bash' };

test('the subject of an approval is shown line by line, with every character visible', () => {
  const { text, hidden } = shortDetails({ ...permission, details: 'ls\n  pwd\u001b]0; rm -rf ~\u0007' });
  expect({ text, hidden }).toEqual({ text: 'ls\n  pwd␛]0; rm -rf ~␇', hidden: 0 });
});

test('a notice says how much was cut off and where all of it is', () => {
  const { text, hidden } = shortDetails({ ...permission, details: 'x'.repeat(1_500) });
  expect(hidden).toBe(500);
  expect(text).toMatch(/^x{1000}… \(500 characters not shown: `squad inbox` and the web UI show/);
  expect(shortDetails({ kind: 'approval', question: 'x'.repeat(700), details: null })).toMatchObject({
    hidden: 100,
  });
});

test('of a question the beginning is enough', () => {
  const { text, hidden } = shortDetails({ kind: 'question', question: 'Well?', details: 'a\n'.repeat(900) });
  expect(hidden).toBe(0);
  expect(text).toHaveLength(300);
  expect(shortDetails({ kind: 'question', question: 'Well?', details: null }).text).toBeNull();
});
