import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { ToolResult } from './face.ts';
import type { FaceServer } from './face-server.ts';
import { invalidParams, refuseCursor } from './protocol-errors.ts';

export function serveTools(server: FaceServer): void {
  const { tools } = server.face;

  server.setRequestHandler('tools/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { tools: await server.ask(ctx, peer => tools.list(peer)) };
  });

  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    return server.call(ctx, async call => {
      const result = await tools.call(params.name, params.arguments ?? {}, call);
      if (result === null) throw invalidParams(`Unknown tool: ${params.name}`);
      return rendered(result);
    });
  });
}

/** Some clients show the model the text, some the structured content: both must say the same. */
function rendered(result: ToolResult): CallToolResult | InputRequiredResult {
  if ('raw' in result) return result.raw;
  return {
    content: [{ type: 'text', text: JSON.stringify(result.structured) }],
    structuredContent: result.structured,
    ...(result.isError && { isError: true }),
  };
}
