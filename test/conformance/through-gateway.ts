import { once } from 'node:events';
import { createServer } from 'node:http';
import { refuseForeign } from '../../src/http/guard.ts';
import { withServers } from '../../src/mcp/with-servers.ts';
import type { Face } from '../../src/wire/face.ts';
import { createHttpHandler } from '../../src/wire/serve-http.ts';
import { realGateway } from '../support/real-gateway.ts';
import { withOwnNames } from './own-names.ts';

const SERVER = 'r';

/** Our HTTP endpoint for one run that has nothing but one other server, all of it. */
export async function serveThroughGateway(block: object): Promise<{ url: string; close(): Promise<void> }> {
  const fixture = realGateway({ servers: { [SERVER]: block }, shared: [SERVER] });
  const { gateway } = fixture;
  const run = fixture.run();
  gateway.prepare(run);
  gateway.onChange((_runId, what) => {
    if (what === 'tools') handler.notices.toolsChanged();
    else if (what === 'prompts') handler.notices.promptsChanged();
    else handler.notices.resourcesChanged();
  });
  const view = () => {
    const found = gateway.viewOf(run);
    return found && withOwnNames(found, SERVER);
  };
  const handler = createHttpHandler({ build: () => withServers(NOTHING_OF_OUR_OWN, view) });

  const server = createServer((request, response) => {
    // The runner has no token to show; the rest of the guard is ours.
    if (refuseForeign(request, port)) response.writeHead(403).end();
    else void handler.handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await handler.close();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await gateway.close();
    },
  };
}

const NOTHING_OF_OUR_OWN: Face = {
  info: { name: 'gateway', version: '1.0.0' },
  logging: true,
  tools: { list: async () => [], call: async () => null },
  resources: { list: async () => [], read: async () => null, watchable: true },
};
