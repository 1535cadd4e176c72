import { expect, test } from 'vitest';
import { toolsetsIn } from './toolset.ts';

test.each([
  [undefined, null],
  ['', null],
  [' , ', null],
  ['templates', ['templates']],
  ['core, team,core', ['core', 'team']],
])('%j are %j', (text, toolsets) => {
  expect(toolsetsIn(text)).toEqual(toolsets);
});

test('a name that is none is refused with those there are', () => {
  expect(() => toolsetsIn('core,everything')).toThrow(
    expect.objectContaining({
      code: 'INVALID_INPUT',
      message: 'There is no toolset "everything"',
      suggestions: [expect.stringContaining('core, team, templates')],
    }),
  );
});
