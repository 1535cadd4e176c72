import { notifyListChanged } from '../../src/app/serve-views.ts';
import { withServers } from '../../src/mcp/with-servers.ts';
import type { Face } from '../../src/wire/face/face.ts';
import { createHttpHandler } from '../../src/wire/http/serve-http.ts';
import { realGateway } from '../support/real-gateway.ts';
import { type Listening, listen } from './listen.ts';
import { withOwnNames } from './own-names.ts';

const SERVER = 'r';

/** HTTP endpoint for one run that has full access to one other server and to nothing else. */
export async function serveThroughGateway(block: object): Promise<Listening> {
  const fixture = realGateway({ servers: { [SERVER]: block }, shared: [SERVER] });
  const { gateway } = fixture;
  const run = fixture.run();
  gateway.prepare(run);
  gateway.onChange((_runId, what) => notifyListChanged(what, handler));
  const view = () => {
    const found = gateway.viewOf(run);
    return found && withOwnNames(found, SERVER);
  };
  const handler = createHttpHandler({ build: () => withServers(NOTHING_OF_OUR_OWN, view) });

  const { url, close } = await listen(handler);
  return {
    url,
    close: async () => {
      await close();
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
