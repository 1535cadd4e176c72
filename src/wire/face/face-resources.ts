import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { SquadError } from '../../schema/error.ts';
import type { Face } from './face.ts';
import type { FaceServer } from './face-server.ts';
import { refuseCursor } from './protocol-errors.ts';

export function serveResources(server: FaceServer, resources: NonNullable<Face['resources']>): void {
  server.setRequestHandler('resources/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { resources: await server.ask(ctx, peer => resources.list(peer)) };
  });

  server.setRequestHandler('resources/templates/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return {
      resourceTemplates: await server.ask(ctx, async peer => (await resources.templates?.(peer)) ?? []),
    };
  });

  server.setRequestHandler('resources/read', async ({ params }, ctx) => {
    const result = await server.call(ctx, call =>
      resources.read(params.uri, call).catch(asNotFound(params.uri)),
    );
    if (result === null) throw new ResourceNotFoundError(params.uri);
    return result;
  });

  if (!resources.watchable || server.era === 'modern') return;
  server.setRequestHandler('resources/subscribe', async ({ params }) => {
    server.watched.add(params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
    server.watched.delete(params.uri);
    return {};
  });
}

/** A name in a URI that nobody has is a resource that is not there; the message may still help. */
const asNotFound = (uri: string) => (thrown: unknown) => {
  if (!(thrown instanceof SquadError) || thrown.code !== 'AGENT_UNKNOWN') throw thrown;
  throw new ResourceNotFoundError(
    uri,
    [`Resource not found: ${uri}`, thrown.message, ...thrown.suggestions].join('. '),
  );
};
