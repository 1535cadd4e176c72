import { randomBytes } from 'node:crypto';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import type { ChangeNotices, Face, ToolDef } from '../../src/wire/face/face.ts';
import { createHttpHandler } from '../../src/wire/http/serve-http.ts';
import { askingTools } from './asking-tools.ts';
import { legacyAskingTools } from './legacy-asking-tools.ts';
import { type Listening, listen } from './listen.ts';
import { plainTools } from './plain-tools.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';
import { taskTools } from './task-tools.ts';

/** Serves the fixture with our own HTTP code on a loopback port; with `legacyOnly`, to legacy clients only. */
export async function serveFixture({ legacyOnly = false } = {}): Promise<Listening> {
  const face = fixtureFace(() => handler.notices);
  const handler = createHttpHandler({ build: () => face });
  return listen(handler, request =>
    legacyOnly && request.headers['mcp-protocol-version'] === '2026-07-28'
      ? 'Unsupported protocol version'
      : null,
  );
}

/** Server with the tools, resources and prompts that the official runner expects. */
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
