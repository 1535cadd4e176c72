import { type Heard, SHELL, type WireClient } from './wire-client.ts';

interface Block {
  type: string;
  text?: string;
  name?: string;
  input?: unknown;
}

interface Counted {
  input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

interface StreamEvent {
  type: string;
  index?: number;
  content_block?: Block;
  delta?: { text?: string; partial_json?: string };
  usage?: Counted;
}

export const anthropicClient: WireClient = {
  path: () => '/v1/messages',
  body: (prompt, stream) => ({
    model: 'm',
    stream,
    max_tokens: 10,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    tools: [{ name: 'Bash', input_schema: SHELL }],
  }),
  whole(answer) {
    const { content, usage } = answer as { content: Block[]; usage: Counted };
    return heard(content, usage);
  },
  streamed(given) {
    const events = given as StreamEvent[];
    if (events.at(-1)?.type !== 'message_stop') throw new Error('the stream has no end');
    const blocks = events.flatMap(({ content_block }) => (content_block ? [{ ...content_block }] : []));
    for (const [index, block] of blocks.entries()) {
      const deltas = events.flatMap(event => (event.index === index ? (event.delta ?? []) : []));
      if (block.type === 'text') block.text = deltas.map(({ text }) => text).join('');
      else block.input = JSON.parse(deltas.map(({ partial_json }) => partial_json).join(''));
    }
    return heard(blocks, events.find(({ type }) => type === 'message_delta')!.usage!);
  },
};

function heard(blocks: Block[], usage: Counted): Heard {
  const tool = blocks.find(({ type }) => type === 'tool_use');
  return {
    text: blocks.map(({ text = '' }) => text).join(''),
    call: tool ? { name: tool.name!, arguments: tool.input } : null,
    input: usage.input_tokens + usage.cache_read_input_tokens,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens,
  };
}
