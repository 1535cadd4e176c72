import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import type { Call, ToolResult } from './face.ts';
import type { FaceServer } from './face-server.ts';
import { taskCreated } from './face-tasks.ts';
import { refuseCursor, unknownTool } from './protocol-errors.ts';
import { readableResult } from './readable-result.ts';
import { toolsOfEra } from './tool-list-text.ts';
import { renderedResult } from './tool-result.ts';

export function serveTools(server: FaceServer): void {
  const { tools } = server.face;

  server.setRequestHandler('tools/list', async ({ params }, ctx) => {
    refuseCursor(params);
    return { tools: toolsOfEra(await server.ask(ctx, peer => tools.list(peer)), server.era) };
  });

  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const asTask = server.era === 'legacy' && server.face.tasks !== undefined && params.task !== undefined;
    return server.call(ctx, async plain => {
      const call = asTask ? { ...plain, asTask, acceptsTasks: true } : plain;
      const result = await tools.call(params.name, params.arguments ?? {}, call);
      if (result === null) throw unknownTool(params.name);
      return rendered(result, call);
    });
  });
}

function rendered(result: ToolResult, call: Call): CallToolResult | InputRequiredResult {
  // The SDK's types know the tasks of 2025 only; what it sends is what it is given.
  if ('task' in result) return taskCreated(result.task, call) as unknown as CallToolResult;
  return readableResult('raw' in result ? result.raw : renderedResult(result), call.client);
}
