import { type Heard, SHELL, type WireClient } from './wire-client.ts';

interface Item {
  type: string;
  name?: string;
  arguments?: string;
  content?: { text: string }[];
}

interface Counted {
  input_tokens: number;
  output_tokens: number;
  input_tokens_details: { cached_tokens: number };
}

interface StreamEvent {
  type: string;
  item?: Item;
  delta?: string;
  response?: { usage: Counted };
}

export const responsesClient: WireClient = {
  path: () => '/v1/responses',
  body: (prompt, stream) => ({
    model: 'm',
    stream,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }],
    tools: [{ type: 'function', name: 'shell', parameters: SHELL }],
  }),
  whole(answer) {
    const { output, usage } = answer as { output: Item[]; usage: Counted };
    return heard(output, usage);
  },
  streamed(given) {
    const events = given as StreamEvent[];
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error('the stream has no end');
    const items = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? item! : []));
    const said = events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? delta! : []));
    return { ...heard(items, last.response!.usage), text: said.join('') };
  },
};

function heard(items: Item[], usage: Counted): Heard {
  const tool = items.find(({ type }) => type === 'function_call');
  return {
    text: items.flatMap(({ content = [] }) => content.map(({ text }) => text)).join(''),
    call: tool ? { name: tool.name!, arguments: JSON.parse(tool.arguments!) } : null,
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_tokens_details.cached_tokens,
  };
}
