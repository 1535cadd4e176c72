import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Caller } from '../core/ports/workspace.ts';
import type { Operation } from '../operations/operation.ts';
import { HttpProblem, problemOf, readBody } from './http-problem.ts';
import { fieldsOf, openApi, type Route, routesOf } from './open-api.ts';
import type { JsonSchema, WebPorts } from './ports.ts';
import { errandOf, named, type Tickets } from './tickets.ts';

/**
 * Converts query parameters to the types that the operation expects. A parameter that cannot be converted stays a
 * string, which the operation refuses.
 */
export function readQuery(query: URLSearchParams, schema: JsonSchema): Record<string, unknown> {
  const fields = fieldsOf(schema);
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map(name => {
      const given = query.getAll(name);
      const wanted = fields.get(name) ?? {};
      const [only, ...more] = given;
      const list = variants(wanted).find(({ type }) => type === 'array');
      if (list) return [name, given.map(text => converted(text, (list.items ?? {}) as JsonSchema))];
      return [name, more.length > 0 ? given : converted(only!, wanted)];
    }),
  );
}

function converted(text: string, schema: JsonSchema): unknown {
  const types = variants(schema).flatMap(({ type }) => type as string | string[]);
  if ((types.includes('number') || types.includes('integer')) && isNumber(text)) return Number(text);
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

const isNumber = (text: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);

const variants = (schema: JsonSchema): JsonSchema[] =>
  [schema, ...((schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[])].filter(
    ({ type }) => type !== undefined,
  );

type Request = Context<{ Bindings: HttpBindings }>;

const MAX_WAIT_S = 3_600;

/** The operations table as a REST API. Every request here has a valid token. */
export function restApi(ports: WebPorts, tickets: Tickets): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const routes = routesOf(ports.operations);
  /** Input schemas, built on first use. */
  const inputs = new Map<string, JsonSchema>();
  for (const route of routes)
    app.on(route.method, honoPath(route.path), async request => request.json(await answer(request, route)));
  let description: object | null = null;
  app.get('/api/openapi.json', request => {
    description ??= openApi(routes, ports);
    return request.json(description);
  });
  app.post('/api/ticket', async request => {
    const body = await readBody(request.env.incoming, ports.maxBodyBytes);
    const caller = await ports.callerOf(request.env.incoming);
    if (caller.parent)
      throw new HttpProblem(
        403,
        'NOT_ALLOWED',
        `Run ${caller.parent.id} cannot get a ticket: tickets are only for the user`,
      );
    const session = ports.sessions.of(request.env.incoming);
    const errand = await errandOf(body, { caller, session }, (name, input) =>
      call(request, caller, named(ports.operations, name), input),
    );
    return request.json(tickets.issue(errand));
  });
  for (const [path, methods] of methodsByPath(routes))
    app.all(honoPath(path), request => {
      request.header('allow', methods.join(', '));
      throw new HttpProblem(405, 'INVALID_INPUT', `${path} takes ${methods.join(' or ')}`);
    });
  app.notFound(request => {
    const place = `${request.req.method} ${request.req.path}`;
    return problem(
      request,
      new HttpProblem(404, 'UNKNOWN_OPERATION', `Unknown route: ${place}`, [
        'GET /api/openapi.json lists all routes.',
      ]),
    );
  });
  app.onError((thrown, request) => problem(request, thrown));
  return app;

  async function answer(request: Request, { method, fields, operation }: Route): Promise<object> {
    const schema = inputs.get(operation.name) ?? ports.schemaOf(operation.input, 'input');
    inputs.set(operation.name, schema);
    const given =
      method === 'GET'
        ? readQuery(new URL(request.req.url).searchParams, schema)
        : await readBody(request.env.incoming, ports.maxBodyBytes);
    const caller = await ports.callerOf(request.env.incoming);
    return (await call(request, caller, operation, withPath(given, request, fields, schema))) as object;
  }

  async function call(
    request: Request,
    caller: Caller,
    operation: Operation,
    input: unknown,
  ): Promise<unknown> {
    const gone = new AbortController();
    request.env.outgoing.once('close', () => gone.abort());
    ports.onInFlight(1);
    try {
      return await ports.dispatch(operation, input, {
        services: ports.services,
        caller,
        signal: gone.signal,
        waitMs: waitOf(request) * 1000,
        progress: async () => {},
        emit: () => {},
      });
    } finally {
      ports.onInFlight(-1);
    }
  }

  function problem(request: Request, thrown: unknown): Response {
    const { status, body } = problemOf(thrown, ports.errorOf);
    if (status === 500) ports.log('error', 'A bug in the REST API', thrown);
    // The rest of the body is unread, so the connection cannot be reused.
    if (status === 413) request.header('connection', 'close');
    return request.json(body, status);
  }
}

const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

function methodsByPath(routes: Route[]): Map<string, string[]> {
  const found = new Map<string, string[]>([
    ['/api/openapi.json', ['GET']],
    ['/api/ticket', ['POST']],
    ['/api/session', ['POST']],
    ['/api/proof', ['GET']],
    ['/api/live', ['GET']],
    ['/api/download', ['GET']],
  ]);
  for (const { path, method } of routes) found.set(path, [...(found.get(path) ?? []), method]);
  return found;
}

/** Adds the fields of the path. A different value in the query or body is refused instead of silently ignored. */
function withPath(
  given: Record<string, unknown>,
  request: Request,
  fields: string[],
  schema: JsonSchema,
): Record<string, unknown> {
  const inPath = readQuery(
    new URLSearchParams(fields.map((field): [string, string] => [field, request.req.param(field)!])),
    schema,
  );
  const twice = fields.find(field => given[field] !== undefined && given[field] !== inPath[field]);
  if (twice !== undefined)
    throw new HttpProblem(
      400,
      'INVALID_INPUT',
      `${twice} has one value in the path and another in the query or body`,
    );
  return { ...given, ...inPath };
}

/** Seconds that an operation may wait, from `Prefer: wait=30` (default: 0). */
function waitOf(request: Request): number {
  const wanted = /(?:^|[,;\s])wait=(\d+)/i.exec(request.req.header('prefer') ?? '')?.[1];
  return Math.min(Number(wanted ?? 0), MAX_WAIT_S);
}
