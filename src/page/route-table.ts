import type { Operation } from '../operations/operation.ts';
import { ROUTES } from '../schema/routes.ts';

export interface Route {
  method: 'GET' | 'POST';
  /** With its fields in braces, as OpenAPI writes it. */
  path: string;
  /** Fields of the input that are in the path. */
  fields: string[];
  operation: Operation;
}

/** What is not in the REST API, and why. */
export const NOT_ROUTED: Readonly<Record<string, string>> = {
  open_page: 'it is for the terminal that opens the page, whose environment it lends',
  follow_events: 'it streams; over HTTP the WebSocket does',
  inspect_subagent_tools: 'it starts the servers that a file names, which only the terminal may ask for',
};

/** Every operation that is there, at the place the table gives it. */
export function routesOf(operations: readonly Operation[]): Route[] {
  return operations.flatMap(operation => {
    const place = (ROUTES as Readonly<Record<string, string>>)[operation.name];
    if (place === undefined) return [];
    const [method, below] = place.split(' ') as [Route['method'], string];
    const fields = [...below.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!);
    return { method, path: `/api${below}`, fields, operation };
  });
}
