import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../operations/table.ts';
import { ROUTES } from '../schema/routes.ts';
import { fieldsOf, type ObjectSchema } from './object-schema.ts';
import { NOT_ROUTED, routesOf } from './route-table.ts';

const names = OPERATIONS.map(({ name }) => name);

test('every operation has a route, or a reason why not', () => {
  expect(names.filter(name => !(name in ROUTES) && !(name in NOT_ROUTED))).toEqual([]);
});

test('every route has an operation, and nothing has both a route and a reason why not', () => {
  expect(Object.keys(ROUTES).filter(name => !names.includes(name))).toEqual([]);
  expect(Object.keys(NOT_ROUTED).filter(name => name in ROUTES || !names.includes(name))).toEqual([]);
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
