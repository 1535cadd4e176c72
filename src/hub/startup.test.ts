import { expect, test } from 'vitest';
import { requestedPort } from './startup.ts';

function asked(text: string | undefined) {
  const warnings: string[] = [];
  return { port: requestedPort(text, message => warnings.push(message)), warnings };
}

test('a port is taken as it is, and none is nothing to warn of', () => {
  expect(asked('3100')).toEqual({ port: 3100, warnings: [] });
  expect(asked('65535')).toEqual({ port: 65_535, warnings: [] });
  expect(asked('')).toEqual({ port: null, warnings: [] });
  expect(asked(undefined)).toEqual({ port: null, warnings: [] });
});

test.each(['abc', '0', '65536', '-1', '3001.5', '1e3', ' 80'])('%j is no port and is logged', text => {
  expect(asked(text)).toEqual({ port: null, warnings: [expect.stringContaining(JSON.stringify(text))] });
});
