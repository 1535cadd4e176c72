import { expect, test } from 'vitest';
import { createStyle } from './style.ts';
import { type Column, formatTable } from './table.ts';
import { displayWidth } from './width.ts';

const plain = createStyle(false);
const columns: Column[] = [
  { title: 'role' },
  { title: 'task', shrinkTo: 6 },
  { title: 'time', align: 'right' },
];
const rows = [
  ['architect', 'Split the auth service', '1m30s'],
  ['日本', 'Review', '5s'],
];

test('columns are aligned, numbers to the right, without trailing spaces', () => {
  expect(formatTable(columns, rows, Number.POSITIVE_INFINITY, plain)).toEqual([
    'role       task                     time',
    'architect  Split the auth service  1m30s',
    '日本       Review                     5s',
  ]);
});

test('on a narrow screen the column that may shrink is cut first', () => {
  expect(formatTable(columns, rows, 30, plain)).toEqual([
    'role       task           time',
    'architect  Split the a…  1m30s',
    '日本       Review           5s',
  ]);
});

test('no line is ever wider than the screen, with colours and without', () => {
  const style = createStyle(true);
  const colored = rows.map(([role = '', ...rest]) => [style.role(role), ...rest]);
  for (let width = 1; width < 45; width++)
    for (const line of formatTable(columns, colored, width, style))
      expect(displayWidth(line), `width ${width}`).toBeLessThanOrEqual(width);
});

test('a table without rows is its titles', () => {
  expect(formatTable(columns, [], 80, plain)).toEqual(['role  task  time']);
});

test('there may be more rows than a call takes arguments', () => {
  const many = Array.from({ length: 200_000 }, () => ['a', 'b', 'c']);
  expect(formatTable(columns, many, 80, plain)).toHaveLength(many.length + 1);
});
