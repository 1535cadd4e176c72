import { type Heard, SHELL, type WireClient } from './wire-client.ts';

interface Message {
  content?: string | null;
  tool_calls?: { function: { name: string; arguments: string } }[];
}

interface Counted {
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

export const chatClient: WireClient = {
  path: () => '/v1/chat/completions',
  body: (prompt, stream) => ({
    model: 'm',
    stream,
    messages: [{ role: 'user', content: prompt }],
    tools: [{ type: 'function', function: { name: 'bash', parameters: SHELL } }],
  }),
  whole(answer) {
    const { choices, usage } = answer as { choices: { message: Message }[]; usage: Counted };
    return heard(choices[0]!.message, usage);
  },
  streamed(given) {
    const events = given as { choices: { delta: Message }[]; usage?: Counted }[];
    const deltas = events.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    const content = deltas.map(delta => delta.content ?? '').join('');
    return heard(
      { content, tool_calls: deltas.flatMap(delta => delta.tool_calls ?? []) },
      events.at(-1)!.usage!,
    );
  },
};

function heard({ content, tool_calls = [] }: Message, usage: Counted): Heard {
  const tool = tool_calls[0]?.function;
  return {
    text: content ?? '',
    call: tool ? { name: tool.name, arguments: JSON.parse(tool.arguments) } : null,
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: usage.prompt_tokens_details.cached_tokens,
  };
}
