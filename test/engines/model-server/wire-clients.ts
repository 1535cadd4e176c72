/** The least a client of each format does: asks, reads a whole or a streamed answer, and says what was in it. */
import type { WireFormat } from './conversation.ts';

export interface Heard {
  text: string;
  call: { name: string; arguments: unknown } | null;
  input: number;
  output: number;
  cached: number;
}

export interface WireClient {
  path(stream: boolean): string;
  body(prompt: string, stream: boolean): object;
  whole(answer: Json): Heard;
  streamed(events: Json[]): Heard;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at as they come, deep and in four shapes
export type Json = any;

const SHELL = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };

export const CLIENTS: Record<WireFormat['name'], WireClient> = {
  anthropic: {
    path: () => '/v1/messages',
    body: (prompt, stream) => ({
      model: 'm',
      stream,
      max_tokens: 10,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      tools: [{ name: 'Bash', input_schema: SHELL }],
    }),
    whole: ({ content, usage }) => fromBlocks(content, usage),
    streamed(events) {
      const blocks = events
        .filter(({ type }) => type === 'content_block_start')
        .map(event => ({ ...event.content_block }));
      for (const { index, delta } of events.filter(({ type }) => type === 'content_block_delta')) {
        if (delta.type === 'text_delta') blocks[index].text += delta.text;
        else
          blocks[index].input =
            (typeof blocks[index].input === 'string' ? blocks[index].input : '') + delta.partial_json;
      }
      for (const block of blocks) if (block.type === 'tool_use') block.input = JSON.parse(block.input);
      expectLast(events, 'message_stop');
      return fromBlocks(blocks, events.find(({ type }) => type === 'message_delta').usage);
    },
  },
  responses: {
    path: () => '/v1/responses',
    body: (prompt, stream) => ({
      model: 'm',
      stream,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }],
      tools: [{ type: 'function', name: 'shell', parameters: SHELL }],
    }),
    whole: ({ output, usage }) => fromItems(output, usage),
    streamed(events) {
      expectLast(events, 'response.completed');
      const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      const heard = fromItems(items, events.at(-1).response.usage);
      const deltas = events
        .filter(({ type }) => type === 'response.output_text.delta')
        .map(({ delta }) => delta);
      return { ...heard, text: deltas.join('') };
    },
  },
  chat: {
    path: () => '/v1/chat/completions',
    body: (prompt, stream) => ({
      model: 'm',
      stream,
      messages: [{ role: 'user', content: prompt }],
      tools: [{ type: 'function', function: { name: 'bash', parameters: SHELL } }],
    }),
    whole: ({ choices, usage }) => fromMessage(choices[0].message, usage),
    streamed(events) {
      const deltas = events.flatMap(({ choices }) => choices.map((choice: Json) => choice.delta));
      const content = deltas.map(delta => delta.content ?? '').join('');
      const tool_calls = deltas.flatMap(delta => delta.tool_calls ?? []);
      return fromMessage({ content, tool_calls }, events.at(-1).usage);
    },
  },
  gemini: {
    path: stream => `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: prompt => ({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      tools: [{ functionDeclarations: [{ name: 'run_shell_command', parametersJsonSchema: SHELL }] }],
    }),
    whole: answer => fromChunks([answer]),
    streamed: fromChunks,
  },
};

function fromBlocks(blocks: Json[], usage: Json): Heard {
  const tool = blocks.find(({ type }) => type === 'tool_use');
  return {
    text: blocks.map(({ text = '' }) => text).join(''),
    call: tool ? { name: tool.name, arguments: tool.input } : null,
    input: usage.input_tokens + usage.cache_read_input_tokens,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens,
  };
}

function fromItems(items: Json[], usage: Json): Heard {
  const tool = items.find(({ type }) => type === 'function_call');
  return {
    text: items.flatMap(({ content = [] }) => content.map((part: Json) => part.text)).join(''),
    call: tool ? { name: tool.name, arguments: JSON.parse(tool.arguments) } : null,
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_tokens_details.cached_tokens,
  };
}

function fromMessage({ content, tool_calls = [] }: Json, usage: Json): Heard {
  const tool = tool_calls[0]?.function;
  return {
    text: content ?? '',
    call: tool ? { name: tool.name, arguments: JSON.parse(tool.arguments) } : null,
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: usage.prompt_tokens_details.cached_tokens,
  };
}

function fromChunks(chunks: Json[]): Heard {
  const parts = chunks.flatMap(({ candidates }) => candidates[0].content.parts);
  const tool = parts.find(({ functionCall }) => functionCall)?.functionCall;
  const usage = chunks.at(-1).usageMetadata;
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    call: tool ? { name: tool.name, arguments: tool.args } : null,
    input: usage.promptTokenCount,
    output: usage.candidatesTokenCount,
    cached: usage.cachedContentTokenCount,
  };
}

function expectLast(events: Json[], type: string): void {
  if (events.at(-1)?.type !== type)
    throw new Error(`the stream ends with ${events.at(-1)?.type}, not ${type}`);
}
