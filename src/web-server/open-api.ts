import type { Operation } from '../operations/operation.ts';
import type { JsonSchema, WebPorts } from './ports.ts';

/** A JSON Schema of an object, or of one of several objects. */
export interface ObjectSchema extends JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: ObjectSchema[];
  oneOf?: ObjectSchema[];
}

const variantsOf = ({ anyOf = [], oneOf = [] }: ObjectSchema): ObjectSchema[] => [...anyOf, ...oneOf];

/** All fields of a schema. If variants define a field differently, the first variant counts. */
export function fieldsOf(schema: ObjectSchema): Map<string, JsonSchema> {
  const own = Object.entries(schema.properties ?? {});
  const others = variantsOf(schema).flatMap(variant => [...fieldsOf(variant)]);
  return new Map([...others.reverse(), ...own]);
}

function withoutFields(schema: ObjectSchema, names: readonly string[]): ObjectSchema {
  const { properties, required, anyOf, oneOf, ...rest } = schema;
  const isLeft = (name: string) => !names.includes(name);
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isLeft(name))),
    }),
    ...(required && { required: required.filter(isLeft) }),
    ...(anyOf && { anyOf: anyOf.map(variant => withoutFields(variant, names)) }),
    ...(oneOf && { oneOf: oneOf.map(variant => withoutFields(variant, names)) }),
  };
}

/** The REST API as an OpenAPI 3.1 document, made from the same table as the API itself. */
export function openApi(
  routes: readonly Route[],
  { version, schemaOf }: Pick<WebPorts, 'version' | 'schemaOf'>,
) {
  const paths: Record<string, Record<string, object>> = { '/api/ticket': { post: TICKET } };
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, schemaOf);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Squad', version },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: ERROR },
      responses: { Error: { description: 'The request was refused or failed', content: json(ref('Error')) } },
      parameters: {
        workspace: {
          name: 'Squad-Workspace',
          in: 'header',
          description: "Absolute path of the workspace, or utf-8'' and the path percent-encoded",
          schema: { type: 'string' },
        },
        wait: {
          name: 'Prefer',
          in: 'header',
          description: 'wait=SECONDS: how long the operation may wait (default: 0)',
          schema: { type: 'string' },
        },
      },
    },
  };
}

function operationOf({ method, fields, operation }: Route, schemaOf: WebPorts['schemaOf']): object {
  const input = schemaOf(operation.input, 'input') as ObjectSchema;
  const parameters = [...fieldsOf(input)]
    .filter(([name]) => fields.includes(name) || method === 'GET')
    .map(([name, schema]) => ({
      name,
      in: fields.includes(name) ? 'path' : 'query',
      required: fields.includes(name) || (input.required ?? []).includes(name),
      schema,
    }));
  return {
    operationId: operation.name,
    summary: operation.tool?.title ?? titleOf(operation.name),
    ...(operation.tool && { description: operation.tool.description }),
    parameters: [
      ...parameters,
      { $ref: '#/components/parameters/workspace' },
      { $ref: '#/components/parameters/wait' },
    ],
    ...(method === 'POST' && {
      requestBody: { required: true, content: json(withoutFields(input, fields)) },
    }),
    responses: {
      200: { description: 'The answer', content: json(schemaOf(operation.output, 'output')) },
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

const json = (schema: JsonSchema) => ({ 'application/json': { schema } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const titleOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

const ERROR: JsonSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'kind', 'message', 'suggestions'],
      properties: {
        code: { type: 'string' },
        kind: { enum: ['usage', 'state', 'external', 'database', 'internal'] },
        message: { type: 'string' },
        suggestions: { type: 'array', items: { type: 'string' } },
        details: { type: ['object', 'null'] },
      },
    },
  },
};

const TICKET = {
  operationId: 'ticket',
  summary: 'A ticket for an address that cannot carry the token',
  description:
    'Works once. Within 30 seconds: ?ticket=… of /api/live (WebSocket) or /api/download. Within 10 minutes: the key of POST /api/session.',
  requestBody: {
    required: true,
    content: json({
      type: 'object',
      required: ['purpose'],
      properties: {
        purpose: { enum: ['live', 'download', 'open'] },
        run: { type: 'string' },
        turn: { type: 'integer', minimum: 1 },
        stream: { enum: ['stdout', 'stderr'] },
      },
      additionalProperties: false,
    }),
  },
  responses: {
    200: {
      description: 'The ticket',
      content: json({
        type: 'object',
        required: ['ticket', 'expiresAt'],
        properties: { ticket: { type: 'string' }, expiresAt: { type: 'number' } },
      }),
    },
    default: { $ref: '#/components/responses/Error' },
  },
};

export interface Route {
  method: 'GET' | 'POST';
  /** Path with its fields in braces, as in OpenAPI. */
  path: string;
  /** Fields of the input that belong to the path. */
  fields: string[];
  operation: Operation;
}

export function routesOf(operations: readonly Operation[]): Route[] {
  return operations.flatMap(operation => {
    if (operation.route === null) return [];
    const [method, below] = operation.route.split(' ') as [Route['method'], string];
    const fields = [...below.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!);
    return { method, path: `/api${below}`, fields, operation };
  });
}
