import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Caller } from '../core/ports/workspace.ts';
import type { Operation } from '../operations/operation.ts';
import { HttpProblem, problemOf, readBody } from './http-problem.ts';
import { fieldsOf, openApi } from './open-api.ts';
import type { JsonSchema, PagePorts } from './ports.ts';
import { type Route, routesOf } from './route-table.ts';
import { errandOf, named, type Tickets } from './tickets.ts';

/** The words of a query as the values its operation expects; what does not fit stays a word, for the operation to refuse. */
export function readQuery(query: URLSearchParams, schema: JsonSchema): Record<string, unknown> {
  const fields = fieldsOf(schema);
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map(name => {
      const given = query.getAll(name);
      const wanted = fields.get(name) ?? {};
      const [only, ...more] = given;
      const list = variants(wanted).find(({ type }) => type === 'array');
      if (list) return [name, given.map(word => asWanted(word, (list.items ?? {}) as JsonSchema))];
      return [name, more.length > 0 ? given : asWanted(only!, wanted)];
    }),
  );
}

function asWanted(word: string, schema: JsonSchema): unknown {
  const types = variants(schema).flatMap(({ type }) => type as string | string[]);
  if ((types.includes('number') || types.includes('integer')) && isNumber(word)) return Number(word);
  if (types.includes('boolean') && (word === 'true' || word === 'false')) return word === 'true';
  return word;
}

const isNumber = (word: string) => /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(word);

const variants = (schema: JsonSchema): JsonSchema[] =>
  [schema, ...((schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[])].filter(
    ({ type }) => type !== undefined,
  );

type Asked = Context<{ Bindings: HttpBindings }>;

const MAX_WAIT_S = 3_600;

/** The operations table as a REST API. Whoever comes here has shown a token. */
export function restApi(ports: PagePorts, tickets: Tickets): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const routes = routesOf(ports.operations);
  /** Made when first asked for; they do not change while a hub lives. */
  const inputs = new Map<string, JsonSchema>();
  for (const route of routes)
    app.on(route.method, honoPath(route.path), async asked => asked.json(await answer(asked, route)));
  let description: object | null = null;
  app.get('/api/openapi.json', asked => {
    description ??= openApi(routes, ports);
    return asked.json(description);
  });
  app.post('/api/ticket', async asked => {
    const body = await readBody(asked.env.incoming, ports.mostBodyBytes);
    const caller = await ports.callerOf(asked.env.incoming);
    if (caller.parent)
      throw new HttpProblem(
        403,
        'NOT_ALLOWED',
        `Run ${caller.parent.id} cannot get a ticket: tickets are only for the user`,
      );
    const session = ports.sessions.of(asked.env.incoming);
    const errand = await errandOf(body, { caller, session }, (name, input) =>
      call(asked, caller, named(ports.operations, name), input),
    );
    return asked.json(tickets.issue(errand));
  });
  for (const [path, methods] of methodsByPath(routes))
    app.all(honoPath(path), asked => {
      asked.header('allow', methods.join(', '));
      throw new HttpProblem(405, 'INVALID_INPUT', `${path} takes ${methods.join(' or ')}`);
    });
  app.notFound(asked => {
    const place = `${asked.req.method} ${asked.req.path}`;
    return problem(
      asked,
      new HttpProblem(404, 'UNKNOWN_OPERATION', `Unknown route: ${place}`, [
        'GET /api/openapi.json lists all routes.',
      ]),
    );
  });
  app.onError((thrown, asked) => problem(asked, thrown));
  return app;

  async function answer(asked: Asked, { method, fields, operation }: Route): Promise<object> {
    const schema = inputs.get(operation.name) ?? ports.schemaOf(operation.input, 'input');
    inputs.set(operation.name, schema);
    const given =
      method === 'GET'
        ? readQuery(new URL(asked.req.url).searchParams, schema)
        : await readBody(asked.env.incoming, ports.mostBodyBytes);
    const caller = await ports.callerOf(asked.env.incoming);
    return (await call(asked, caller, operation, withPath(given, asked, fields, schema))) as object;
  }

  async function call(asked: Asked, caller: Caller, operation: Operation, input: unknown): Promise<unknown> {
    const gone = new AbortController();
    asked.env.outgoing.once('close', () => gone.abort());
    ports.onInFlight(1);
    try {
      return await ports.dispatch(operation, input, {
        services: ports.services,
        caller,
        signal: gone.signal,
        waitMs: waitOf(asked) * 1000,
        progress: async () => {},
        emit: () => {},
      });
    } finally {
      ports.onInFlight(-1);
    }
  }

  function problem(asked: Asked, thrown: unknown): Response {
    const { status, body } = problemOf(thrown, ports.errorOf);
    if (status === 500) ports.log('error', 'A bug in the REST API', thrown);
    // Where it stopped being read, nothing else can begin.
    if (status === 413) asked.header('connection', 'close');
    return asked.json(body, status);
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

/** A field in the path is that field: another value beside it would be ignored without a word. */
function withPath(
  given: Record<string, unknown>,
  asked: Asked,
  fields: string[],
  schema: JsonSchema,
): Record<string, unknown> {
  const inPath = readQuery(
    new URLSearchParams(fields.map((field): [string, string] => [field, asked.req.param(field)!])),
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

/** `Prefer: wait=30`: how many seconds an operation may wait; none unless asked for. */
function waitOf(asked: Asked): number {
  const wanted = /(?:^|[,;\s])wait=(\d+)/i.exec(asked.req.header('prefer') ?? '')?.[1];
  return Math.min(Number(wanted ?? 0), MAX_WAIT_S);
}
