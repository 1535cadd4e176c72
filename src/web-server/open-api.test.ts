import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../operations/operations.ts';
import { fieldsOf, type ObjectSchema, openApi, routesOf } from './open-api.ts';

interface Described {
  operationId: string;
  summary: string;
  parameters: { name?: string; in?: string; $ref?: string }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

const routes = routesOf(OPERATIONS);
const schemaOf = (type: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(type, { io, unrepresentable: 'any' }) as Record<string, unknown>;
const document = JSON.parse(JSON.stringify(openApi(routes, { version: '1', schemaOf }))) as {
  openapi: string;
  paths: Record<string, Record<string, Described>>;
};
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('every route is described once', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(described.map(({ operation }) => operation.operationId).sort()).toEqual(
    ['ticket', ...routes.map(({ operation }) => operation.name)].sort(),
  );
});

test('a part of the path is a parameter of the path and not a field of the body', () => {
  for (const { path, operation } of described) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = (operation.parameters ?? []).filter(each => each.in === 'path').map(({ name }) => name);
    expect(declared, path).toEqual(inPath);
    const body = JSON.stringify(operation.requestBody?.content['application/json']?.schema ?? {});
    const required = [...body.matchAll(/"required":(\[[^\]]*\])/g)].flatMap(([, list]) => JSON.parse(list!));
    for (const name of inPath) expect(required, path).not.toContain(name);
  }
});

test('every schema in it is one, and refers to nothing outside itself', { tags: ['D9'] }, () => {
  const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
  for (const { operation } of described) {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)].filter(
      each => each?.content,
    );
    for (const body of bodies) ajv.compile(body!.content!['application/json']!.schema);
  }
  expect(JSON.stringify(document)).not.toContain('#/$defs');
});

/** Each says why in its own file. */
const WITHOUT_A_ROUTE = [
  ...['continue_thread', 'follow_events', 'inspect_subagent_tools', 'list_threads', 'open_page'],
  ...['read_steps', 'show_thread'],
];

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
