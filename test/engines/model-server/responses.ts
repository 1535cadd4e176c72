import { z } from 'zod';
import {
  type Answer,
  argumentsText,
  type Conversation,
  type MadeCall,
  type OfferedTool,
  pieces,
  SIGNATURE,
  sse,
  type Turn,
  type WireFormat,
} from './conversation.ts';

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const tool = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  parameters: z.looseObject({}).nullish(),
});
const tools = z.array(tool.extend({ tools: z.array(tool).optional() }));
const item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  output: z.unknown().optional(),
  tools: tools.optional(),
});
const request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  instructions: z.string().nullish(),
  input: z.union([
    z.string().transform(text => [{ role: 'user', content: text } as z.infer<typeof item>]),
    z.array(item),
  ]),
  tools: tools.optional(),
});

/** OpenAI Responses. */
export const responses: WireFormat = {
  name: 'responses',
  matches: path => path === '/v1/responses',
  read(body) {
    const { model, stream = false, instructions, input, tools = [] } = request.parse(body);
    const orders = input.filter(({ role }) => role === 'developer' || role === 'system');
    return {
      model,
      stream,
      system: [instructions ?? '', ...orders.map(({ content }) => textOf(content))].join('\n'),
      turns: input.flatMap(turnsOf),
      // Some of Codex's models get their tools as an item of the input.
      tools: [...tools, ...input.flatMap(given => given.tools ?? [])].flatMap(offered),
    };
  },
  whole: (answer, conversation) =>
    response(answer, conversation, isIncomplete(answer) ? 'incomplete' : 'completed'),
  events(answer, conversation) {
    const started = { ...response(answer, conversation, 'in_progress'), output: [], usage: null };
    return [
      { type: 'response.created', response: started },
      { type: 'response.in_progress', response: started },
      ...output(answer).flatMap(itemEvents),
      isIncomplete(answer)
        ? { type: 'response.incomplete', response: response(answer, conversation, 'incomplete') }
        : { type: 'response.completed', response: response(answer, conversation, 'completed') },
    ].map((data, sequence_number) => sse({ ...data, sequence_number }, data.type));
  },
  error: (status, message) => ({ error: { message, type: 'mock_error', param: null, code: String(status) } }),
};

type Item = z.infer<typeof item>;
type OutputItem = ReturnType<typeof output>[number];

function turnsOf({ type = 'message', role, content, output: result }: Item): Turn[] {
  if (type.endsWith('_call_output')) return [{ by: 'tool', text: textOf(result) }];
  if (type.endsWith('_call')) return [{ by: 'model', text: '' }];
  if (type !== 'message' || (role !== 'user' && role !== 'assistant')) return [];
  return [{ by: role === 'user' ? 'user' : 'model', text: textOf(content) }];
}

function textOf(given: unknown): string {
  if (typeof given === 'string') return given;
  const parts = z.array(part).safeParse(given);
  return parts.success
    ? parts.data.flatMap(({ text }) => text ?? []).join('\n')
    : JSON.stringify(given ?? '');
}

/** A namespace is a tool list of its own. */
function offered({ type, name, parameters, tools: inner }: z.infer<typeof tools>[number]): OfferedTool[] {
  if (!name) return [];
  if (inner) return inner.flatMap(one => offered(one).map(below => ({ ...below, namespace: name })));
  return [{ name, takesText: type === 'custom', parameters: parameters ?? {} }];
}

/** A refusal is an answer like any other: a part of another type says that it is one. */
const isIncomplete = ({ stop }: Answer) => stop === 'full' || stop === 'filtered';

const response = (answer: Answer, { model }: Conversation, status: string) => ({
  id: `resp_${answer.id}`,
  object: 'response',
  created_at: 1_700_000_000,
  status,
  model,
  error: null,
  incomplete_details:
    status === 'incomplete'
      ? { reason: answer.stop === 'full' ? 'max_output_tokens' : 'content_filter' }
      : null,
  parallel_tool_calls: false,
  output: output(answer),
  usage: {
    input_tokens: answer.usage.input,
    input_tokens_details: { cached_tokens: answer.usage.cached },
    output_tokens: answer.usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: answer.usage.input + answer.usage.output,
  },
});

function output({ thinking, text, calls, id, stop }: Answer) {
  const thought = {
    type: 'reasoning' as const,
    id: `rs_${id}`,
    status: 'completed',
    summary: [{ type: 'summary_text', text: thinking }],
    encrypted_content: SIGNATURE,
  };
  const said = {
    type: 'message' as const,
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [
      stop === 'refused'
        ? { type: 'refusal' as const, refusal: text }
        : { type: 'output_text' as const, text, annotations: [] },
    ],
  };
  return [...(thinking ? [thought] : []), ...(text ? [said] : []), ...calls.map(calling)];
}

function calling(call: MadeCall) {
  const { id, tool, arguments: args } = call;
  const { name, namespace, takesText } = tool;
  const common = {
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name,
    ...(namespace && { namespace }),
    status: 'completed',
  };
  return takesText
    ? { ...common, type: 'custom_tool_call' as const, input: String(args.input) }
    : { ...common, type: 'function_call' as const, arguments: argumentsText(call) };
}

function itemEvents(given: OutputItem, output_index: number) {
  const common = { item_id: given.id, output_index };
  return [
    { type: 'response.output_item.added', output_index, item: begun(given) },
    ...deltas(given).map(delta => ({ ...common, ...delta })),
    { type: 'response.output_item.done', output_index, item: given },
  ];
}

function begun(given: OutputItem) {
  const started = { ...given, status: 'in_progress' };
  if (given.type === 'message') return { ...started, content: [] };
  if (given.type === 'reasoning') return { ...started, summary: [] };
  return given.type === 'function_call' ? { ...started, arguments: '' } : { ...started, input: '' };
}

function deltas(given: OutputItem): { type: string; [more: string]: unknown }[] {
  if (given.type === 'reasoning') {
    const { text } = given.summary[0]!;
    return [
      {
        type: 'response.reasoning_summary_part.added',
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      },
      ...pieces(text).map(delta => ({
        type: 'response.reasoning_summary_text.delta',
        summary_index: 0,
        delta,
      })),
      { type: 'response.reasoning_summary_part.done', summary_index: 0, part: given.summary[0] },
    ];
  }
  if (given.type === 'custom_tool_call')
    return pieces(given.input).map(delta => ({ type: 'response.custom_tool_call_input.delta', delta }));
  if (given.type === 'function_call')
    return pieces(given.arguments).map(delta => ({ type: 'response.function_call_arguments.delta', delta }));
  const done = given.content[0]!;
  if (done.type === 'refusal')
    return [
      { type: 'response.content_part.added', content_index: 0, part: { ...done, refusal: '' } },
      ...pieces(done.refusal).map(delta => ({ type: 'response.refusal.delta', content_index: 0, delta })),
      { type: 'response.refusal.done', content_index: 0, refusal: done.refusal },
      { type: 'response.content_part.done', content_index: 0, part: done },
    ];
  return [
    { type: 'response.content_part.added', content_index: 0, part: { ...done, text: '' } },
    ...pieces(done.text).map(delta => ({ type: 'response.output_text.delta', content_index: 0, delta })),
    { type: 'response.output_text.done', content_index: 0, text: done.text },
    { type: 'response.content_part.done', content_index: 0, part: done },
  ];
}
