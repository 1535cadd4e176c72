import { z } from 'zod';
import {
  type Answer,
  argumentsText,
  type Conversation,
  type MadeCall,
  pieces,
  SIGNATURE,
  sse,
  type Turn,
  type WireFormat,
} from './conversation.ts';

const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  content: z.unknown().optional(),
});
const content = z.union([z.string(), z.array(block)]);
const request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  system: content.optional(),
  messages: z.array(z.looseObject({ role: z.string(), content })),
  tools: z.array(z.looseObject({ name: z.string(), input_schema: z.looseObject({}).optional() })).optional(),
});

/** Anthropic Messages. */
export const anthropic: WireFormat = {
  name: 'anthropic',
  matches: path => path === '/v1/messages',
  read(body) {
    const { model, stream = false, system = '', messages, tools = [] } = request.parse(body);
    return {
      model,
      stream,
      system: textOf(system),
      turns: messages.flatMap(({ role, content }) => turnsOf(role, content)),
      tools: tools.map(({ name, input_schema }) => ({ name, parameters: input_schema ?? {} })),
    };
  },
  whole: (answer, { model }) => ({
    ...message(answer, model),
    content: blocks(answer).map(shown),
    stop_reason: stopReason(answer),
    usage: usage(answer),
  }),
  events: (answer, { model }) => [
    event({
      type: 'message_start',
      message: { ...message(answer, model), usage: { ...usage(answer), output_tokens: 1 } },
    }),
    ...blocks(answer).flatMap(blockEvents),
    event({
      type: 'message_delta',
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: usage(answer),
    }),
    event({ type: 'message_stop' }),
  ],
  error: (status, message) => ({ type: 'error', error: { type: ERRORS[status] ?? 'api_error', message } }),
};

const ERRORS: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

type Content = z.infer<typeof content>;
type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: object; call: MadeCall };

function turnsOf(role: string, given: Content): Turn[] {
  if (role === 'assistant') return [{ by: 'model', text: textOf(given) }];
  const results = typeof given === 'string' ? [] : given.filter(({ type }) => type === 'tool_result');
  const said = textOf(given);
  return [
    ...results.map(({ content: inner }): Turn => ({ by: 'tool', text: toolText(inner) })),
    ...(said ? [{ by: 'user' as const, text: said }] : []),
  ];
}

const textOf = (given: Content): string =>
  typeof given === 'string' ? given : given.flatMap(({ text }) => text ?? []).join('\n');

function toolText(inner: unknown): string {
  const parsed = content.safeParse(inner);
  return parsed.success ? textOf(parsed.data) : JSON.stringify(inner ?? '');
}

const message = ({ id }: Answer, model: Conversation['model']) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
});

const blocks = ({ thinking, text, calls }: Answer): Block[] => [
  ...(thinking ? [{ type: 'thinking' as const, thinking, signature: SIGNATURE }] : []),
  ...(text ? [{ type: 'text' as const, text }] : []),
  ...calls.map(call => ({
    type: 'tool_use' as const,
    id: `toolu_${call.id}`,
    name: call.tool.name,
    input: call.arguments,
    call,
  })),
];

const shown = (given: Block) => (given.type === 'tool_use' ? { ...given, call: undefined } : given);

/** Its content filter is a refusal too. */
const stopReason = ({ calls, stop }: Answer) =>
  stop
    ? { full: 'max_tokens', filtered: 'refusal', refused: 'refusal' }[stop]
    : calls.length > 0
      ? 'tool_use'
      : 'end_turn';

/** Here the cached part is counted beside the rest, not within it. */
const usage = ({ usage: { input, output, cached } }: Answer) => ({
  input_tokens: input - cached,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
  output_tokens: output,
});

function blockEvents(given: Block, index: number): string[] {
  return [
    event({ type: 'content_block_start', index, content_block: begun(given) }),
    ...deltasOf(given).map(delta => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ];
}

function begun(given: Block): object {
  if (given.type === 'text') return { type: 'text', text: '' };
  if (given.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { ...shown(given), input: {} };
}

function deltasOf(given: Block): object[] {
  if (given.type === 'text') return pieces(given.text).map(text => ({ type: 'text_delta', text }));
  if (given.type === 'thinking')
    return [
      ...pieces(given.thinking).map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: given.signature },
    ];
  return pieces(argumentsText(given.call)).map(text => ({ type: 'input_json_delta', partial_json: text }));
}

const event = (data: { type: string; [more: string]: unknown }) => sse(data, data.type);
