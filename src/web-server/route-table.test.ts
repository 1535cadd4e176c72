import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../operations/operations.ts';
import { fieldsOf, type ObjectSchema, routesOf } from './open-api.ts';

/** Each says why in its own file. */
const WITHOUT_A_ROUTE = ['follow_events', 'inspect_subagent_tools', 'open_page'];

test('every operation has a route, but for these', { tags: ['D9'] }, () => {
  const routed = routesOf(OPERATIONS).map(({ operation }) => operation.name);
  const names = OPERATIONS.map(({ name }): string => name);
  expect(names.filter(name => !routed.includes(name)).sort()).toEqual(WITHOUT_A_ROUTE);
});

test('no two operations are at one place, and what is in a path is a field of the input', () => {
  const routes = routesOf(OPERATIONS);
  const places = routes.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(places).toEqual([...new Set(places)]);
  for (const { fields, operation } of routes) {
    const schema = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }) as ObjectSchema;
    expect([...fieldsOf(schema).keys()], operation.name).toEqual(expect.arrayContaining(fields));
  }
});
