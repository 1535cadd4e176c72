import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import { refuseForeign } from '../../src/http/guard.ts';
import type { ChangeNotices, Face, ToolDef } from '../../src/wire/face.ts';
import { createHttpHandler } from '../../src/wire/serve-http.ts';
import { askingTools } from './asking-tools.ts';
import { legacyAskingTools } from './legacy-asking-tools.ts';
import { plainTools } from './plain-tools.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';
import { taskTools } from './task-tools.ts';

/** Serves what the official runner looks for, with our own HTTP wire, on a loopback port; to legacy clients only, if so wished. */
export async function serveFixture({ legacyOnly = false } = {}): Promise<{
  url: string;
  close(): Promise<void>;
}> {
  const face = fixtureFace(() => handler.notices);
  const handler = createHttpHandler({ build: () => face });
  const server = createServer((request, response) => {
    // The runner has no token to show; the rest of the guard is ours.
    if (refuseForeign(request, port)) response.writeHead(403).end();
    else if (legacyOnly && request.headers['mcp-protocol-version'] === '2026-07-28')
      response.writeHead(400).end('Unsupported protocol version');
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
    },
  };
}

/** What the official runner looks for. */
export function fixtureFace(notices: () => ChangeNotices): Face {
  const state = createRequestStateCodec({ key: randomBytes(32) });
  const { tools: longTools, tasks } = taskTools();
  const tools = { ...plainTools(notices), ...askingTools(state), ...legacyAskingTools, ...longTools };
  return {
    info: { name: 'squad-conformance-fixture', version: '1.0.0' },
    logging: true,
    requestState: { verify: state.verify },
    complete: async ({ argument }) => ({
      values: ['paris', 'park', 'party'].filter(value => value.startsWith(argument.value)),
    }),
    tools: {
      mayChange: true,
      list: async () =>
        Object.keys(tools).map(name => ({
          name,
          description: `Fixture ${name}.`,
          inputSchema: inputOf(name),
        })),
      call: async (name, args, call) => (await tools[name]?.(args, call)) ?? null,
    },
    tasks,
    resources,
    prompts,
  };
}

function inputOf(tool: string): ToolDef['inputSchema'] {
  const field = { test_sampling: 'prompt', test_elicitation: 'message' }[tool];
  if (field === undefined) return { type: 'object', properties: {} };
  return { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] };
}
