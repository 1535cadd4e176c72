import { MODERN } from './greeting.ts';
import type { Json } from './link.ts';
import { isObject } from './parse-json.ts';
import { VERSION_KEY } from './request-meta.ts';

/** Which parameter says what the request is about. */
const NAMED_BY: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

export const isModern = (message: Json): boolean =>
  isObject(message.params) && isObject(message.params._meta) && message.params._meta[VERSION_KEY] === MODERN;

interface MirroredParameter {
  path: string[];
  header: string;
}

/** Modern servers want parts of the body repeated in headers, and say in their tools which arguments, too. */
export class ModernHeaders {
  readonly #mirrored = new Map<string, MirroredParameter[]>();

  /** Looks for wishes in a list of tools on its way to whoever asked. */
  learn(result: Json): void {
    if (!Array.isArray(result.tools)) return;
    for (const tool of result.tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue;
      const found = wishes(tool.inputSchema, [], 0);
      if (found.length > 0) this.#mirrored.set(tool.name, found);
      else this.#mirrored.delete(tool.name);
    }
  }

  of(message: Json): Record<string, string> {
    const method = String(message.method);
    const params = message.params as Json;
    const headers: Record<string, string> = { 'mcp-protocol-version': MODERN, 'mcp-method': method };
    const name = Object.hasOwn(NAMED_BY, method) ? params[NAMED_BY[method] ?? ''] : undefined;
    if (typeof name !== 'string') return headers;
    headers['mcp-name'] = asHeader(name);
    if (method !== 'tools/call') return headers;
    for (const { path, header } of this.#mirrored.get(name) ?? []) {
      const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), params.arguments);
      if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value))
        headers[`mcp-param-${header}`] = asHeader(String(value));
    }
    return headers;
  }
}

const DEEPEST = 16;

function wishes(schema: unknown, path: string[], depth: number): MirroredParameter[] {
  if (!isObject(schema) || depth > DEEPEST) return [];
  const header = schema['x-mcp-header'];
  const own =
    path.length > 0 && typeof header === 'string' && /^[\w!#$%&'*+\-.^`|~]+$/.test(header)
      ? [{ path, header }]
      : [];
  const inner = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return [...own, ...inner.flatMap(([key, child]) => wishes(child, [...path, key], depth + 1))];
}

/** Plain where it can be, else in the one form a header has for any text. */
function asHeader(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
