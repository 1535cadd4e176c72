import { expect, test } from 'vitest';
import { openTerminal } from './terminal.ts';

const screen = { write: () => true, isTTY: true, columns: 100, rows: 30 };
const pipe = { write: () => true };

test.each([
  ['a screen', screen, {}, true, true],
  ['a pipe', pipe, {}, false, false],
  ['NO_COLOR', screen, { NO_COLOR: '1' }, true, false],
  ['an empty NO_COLOR', screen, { NO_COLOR: '' }, true, true],
  ['a dumb terminal', screen, { TERM: 'dumb' }, false, false],
  ['CI', screen, { CI: 'true' }, false, true],
  ['CI=false', screen, { CI: 'false' }, true, true],
  ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, false, true],
  ['FORCE_COLOR over NO_COLOR', screen, { FORCE_COLOR: '', NO_COLOR: '1' }, true, true],
  ['FORCE_COLOR=0', screen, { FORCE_COLOR: '0' }, true, false],
])('%s', (_, stream, env, isTTY, color) => {
  expect(openTerminal(stream, env)).toMatchObject({ isTTY, color });
});

test('the size follows the window; a pipe is unlimited', () => {
  const stream = { ...screen };
  const terminal = openTerminal(stream, {});
  stream.columns = 40;
  stream.rows = 10;
  expect([terminal.columns, terminal.rows]).toEqual([40, 10]);
  expect(openTerminal(pipe, {}).columns).toBe(Number.POSITIVE_INFINITY);
});
