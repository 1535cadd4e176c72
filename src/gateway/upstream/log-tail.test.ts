import { expect, test } from 'vitest';
import { UpstreamFault } from '../../wire/upstream/link.ts';
import { withLogTail } from './connect.ts';

const told = (tail: string, kind: UpstreamFault['kind'] = 'exit') =>
  withLogTail(new UpstreamFault(kind, 'It ended.'), tail).message;

test('the last of a log is one line behind the fault, without the frames of a stack', () => {
  const stack = [
    'file:1',
    'throw x',
    'Error: no DATABASE_URL',
    '    at main (file:1:2)',
    '    at file:3:4',
    '',
    'Node.js v24.1.0',
  ];
  expect(told(stack.join('\n'))).toBe('It ended. It last wrote: file:1 throw x Error: no DATABASE_URL');
  expect(told('  \n')).toBe('It ended.');
});

test('it is cut from its beginning, and nothing is added to what is no fault of the server', () => {
  expect(told(`${'x'.repeat(9_000)} the end`)).toMatch(/: …x{390,}.* the end$/);
  expect(told('x'.repeat(9_000)).length).toBeLessThan(500);
  expect([told('words', 'cancelled'), told('words', 'answer')]).toEqual(['It ended.', 'It ended.']);
});
