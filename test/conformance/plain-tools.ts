import { setTimeout as delay } from 'node:timers/promises';
import { MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server';
import type { Call, ChangeNotices, ToolResult } from '../../src/wire/face/face.ts';
import { audio, embedded, image, text } from './content.ts';

export type FixtureTool = (args: Record<string, unknown>, call: Call) => Promise<ToolResult>;

const saying = (
  ...content: (ReturnType<typeof text | typeof image | typeof audio> | ReturnType<typeof embedded>)[]
) => ({ raw: { content } }) satisfies ToolResult;

/** Tools for the official runner that do not ask the client anything. */
export function plainTools(notices: () => ChangeNotices): Record<string, FixtureTool> {
  return {
    test_simple_text: async () => saying(text('This is a simple text response for testing.')),
    test_image_content: async () => saying(image()),
    test_audio_content: async () => saying(audio()),
    test_embedded_resource: async () =>
      saying(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
    test_multiple_content_types: async () =>
      saying(
        text('Multiple content types test:'),
        image(),
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ),
    test_error_handling: async () => ({
      raw: { isError: true, content: [text('This tool intentionally returns an error for testing')] },
    }),
    test_tool_with_progress: async (_args, call) => {
      for (const value of [0, 50, 100]) {
        await call.progress(`${value} of 100`, value, 100);
        await delay(50);
      }
      return saying(text('Done.'));
    },
    test_tool_with_logging: async (_args, call) => {
      await call.raw.mcpReq.log('info', 'Tool execution started');
      await delay(50);
      await call.raw.mcpReq.log('info', 'Tool processing data');
      await delay(50);
      await call.raw.mcpReq.log('info', 'Tool execution completed');
      return saying(text('Logged.'));
    },
    test_logging_tool: async (_args, call) => {
      await call.raw.mcpReq.log('info', 'Only for those who asked');
      return saying(text('Logged.'));
    },
    test_missing_capability: async (_args, call) => {
      if (!call.capabilities.sampling) {
        throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      }
      return saying(text('The client can sample.'));
    },
    test_trigger_tool_change: async () => {
      notices().toolsChanged();
      return saying(text('Told.'));
    },
    test_trigger_prompt_change: async () => {
      notices().promptsChanged();
      return saying(text('Told.'));
    },
  };
}
