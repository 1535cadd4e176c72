import { expect, test } from 'vitest';
import { matchesUriTemplate } from './run-servers.ts';

test.each([
  ['db://t/{id}', 'db://t/7', true],
  ['db://t/{id}', 'db://t/', true],
  ['db://t/{id}', 'db://t/7/8', false],
  ['db://t/{id}', 'db://u/7', false],
  ['db://t/{id}/x', 'db://t/7/x', true],
  ['db://t/{id}/x', 'db://t/7/y/x', false],
  ['file:///{+path}', 'file:///a/b/c', true],
  ['file:///{path*}', 'file:///a/b/c', true],
  ['file:///{+path}', 'file:///a/../b', false],
  ['file:///{+path}', 'file:///a/%2E%2e/b', false],
  ['file:///{+path}', 'file:///a/..%2fb', false],
  ['file:///{+path}', 'file:///a..b', true],
  ['db://all', 'db://all', true],
  ['db://*', 'db://all', false],
  ['{any}', 'x', true],
])('%s makes %s: %s', (template, uri, isMade) => {
  expect(matchesUriTemplate(template, uri)).toBe(isMade);
});
