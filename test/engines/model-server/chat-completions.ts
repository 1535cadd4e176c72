import { z } from 'zod';
import {
  type Answer,
  argumentsText,
  type Conversation,
  type MadeCall,
  pieces,
  sse,
  type Turn,
  type WireFormat,
} from './conversation.ts';

const content = z
  .union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() }))])
  .nullish();
const request = z.looseObject({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content })),
  tools: z
    .array(
      z.looseObject({
        function: z.looseObject({ name: z.string(), parameters: z.looseObject({}).optional() }),
      }),
    )
    .optional(),
});

/** OpenAI Chat Completions. */
export const chatCompletions: WireFormat = {
  name: 'chat',
  matches: path => path === '/v1/chat/completions',
  read(body) {
    const { model, stream = false, messages, tools = [] } = request.parse(body);
    return {
      model,
      stream,
      system: messages
        .filter(({ role }) => isSystem(role))
        .map(message => textOf(message.content))
        .join('\n'),
      turns: messages.filter(({ role }) => !isSystem(role)).map(turnOf),
      tools: tools.map(({ function: { name, parameters = {} } }) => ({ name, parameters })),
    };
  },
  whole: (answer, conversation) => ({
    ...envelope('chat.completion', answer, conversation),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          ...(answer.stop === 'refused'
            ? { content: null, refusal: answer.text }
            : { content: answer.text || null }),
          ...(answer.calls.length > 0 && { tool_calls: answer.calls.map(toolCall) }),
        },
        finish_reason: finish(answer),
      },
    ],
    usage: usage(answer),
  }),
  events(answer, conversation) {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      sse({
        ...envelope('chat.completion.chunk', answer, conversation),
        choices: [{ index: 0, delta, finish_reason }],
      });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(answer.thinking).map(thought => chunk({ reasoning_content: thought })),
      ...pieces(answer.text).map(text =>
        chunk(answer.stop === 'refused' ? { refusal: text } : { content: text }),
      ),
      ...answer.calls.map((call, index) => chunk({ tool_calls: [{ index, ...toolCall(call) }] })),
      chunk({}, finish(answer)),
      sse({ ...envelope('chat.completion.chunk', answer, conversation), choices: [], usage: usage(answer) }),
      sse('[DONE]'),
    ];
  },
  error: (status, message) => ({ error: { message, type: 'mock_error', param: null, code: String(status) } }),
};

const isSystem = (role: string) => role === 'system' || role === 'developer';

const textOf = (given: z.infer<typeof content>): string =>
  typeof given === 'string' ? given : (given ?? []).flatMap(({ text }) => text ?? []).join('\n');

function turnOf({ role, content: given }: { role: string; content?: z.infer<typeof content> }): Turn {
  const by = role === 'assistant' ? 'model' : role === 'tool' ? 'tool' : 'user';
  return { by, text: textOf(given) };
}

const envelope = (object: string, { id }: Answer, { model }: Conversation) => ({
  id: `chatcmpl-${id}`,
  object,
  created: 1_700_000_000,
  model,
});

const toolCall = (call: MadeCall) => ({
  id: `call_${call.id}`,
  type: 'function',
  function: { name: call.tool.name, arguments: argumentsText(call) },
});

/** A refusal ends like any answer: its text is in another field. */
const finish = ({ calls, stop }: Answer) =>
  stop
    ? { full: 'length', filtered: 'content_filter', refused: 'stop' }[stop]
    : calls.length > 0
      ? 'tool_calls'
      : 'stop';

const usage = ({ usage: { input, output, cached } }: Answer) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
});
