import { OPERATIONS } from '../../src/operations/operations.ts';
import type { WebPorts } from '../../src/web-server/ports.ts';
import { restApi } from '../../src/web-server/rest.ts';
import { Tickets } from '../../src/web-server/tickets.ts';

export interface Door {
  method: string;
  path: string;
}

/** Every route the REST API has registered, asked of the router itself: a new one is here without anybody adding it. */
export function restRoutes(): Door[] {
  const ports = { operations: OPERATIONS } as Partial<WebPorts> as WebPorts;
  const routes = restApi(ports, new Tickets({ now: () => 0, monotonic: () => 0 })).routes.map(
    ({ method, path }) => ({
      method: method === 'ALL' ? 'GET' : method,
      path: path.replaceAll(/:\w+/g, 'run_0000000000'),
    }),
  );
  return [...new Map(routes.map(door => [`${door.method} ${door.path}`, door])).values()];
}

/** Paths below /api that need no token: each has a secret of its own, or gives nothing away. Tested in `src/web-server` and `test/web`. */
export const WITHOUT_TOKEN = ['GET /api/live', 'GET /api/download', 'GET /api/proof', 'POST /api/session'];
