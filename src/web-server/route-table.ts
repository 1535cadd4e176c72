import type { Operation } from '../operations/operation.ts';

export interface Route {
  method: 'GET' | 'POST';
  /** With its fields in braces, as in OpenAPI. */
  path: string;
  /** Fields of the input that are in the path. */
  fields: string[];
  operation: Operation;
}

/** The operations that have a route. */
export function routesOf(operations: readonly Operation[]): Route[] {
  return operations.flatMap(operation => {
    if (operation.route === null) return [];
    const [method, below] = operation.route.split(' ') as [Route['method'], string];
    const fields = [...below.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!);
    return { method, path: `/api${below}`, fields, operation };
  });
}
