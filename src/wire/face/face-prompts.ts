import type { Face } from './face.ts';
import type { FaceServer } from './face-server.ts';
import { invalidParams, refuseCursor } from './protocol-errors.ts';

export function servePrompts(server: FaceServer, prompts: NonNullable<Face['prompts']>): void {
  server.setRequestHandler('prompts/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { prompts: await server.ask(ctx, peer => prompts.list(peer)) };
  });

  server.setRequestHandler('prompts/get', async ({ params }, ctx) => {
    const result = await server.call(ctx, call => prompts.get(params.name, params.arguments ?? {}, call));
    if (result === null) throw invalidParams(`Unknown prompt: ${params.name}`);
    return result;
  });
}

export function serveCompletion(server: FaceServer, complete: NonNullable<Face['complete']>): void {
  server.setRequestHandler('completion/complete', async ({ params }, ctx) => {
    const { values, total } = await server.ask(ctx, peer => complete(params, peer));
    const shown = values.slice(0, MOST_VALUES);
    return {
      completion: { values: shown, total: total ?? values.length, hasMore: shown.length < values.length },
    };
  });
}

/** The protocol's own limit for one answer. */
const MOST_VALUES = 100;
