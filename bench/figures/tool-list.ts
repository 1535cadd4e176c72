import { BenchSquad } from '../bench-squad.ts';
import { type Figure, single } from '../figure.ts';

const MOST_TOKENS = 1200;
const BYTES_A_TOKEN = 4;

interface Tool {
  name: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
}

/** What every conversation pays before anything is asked for. */
export const toolList: Figure = {
  name: 'tool-list',
  title: 'Tool list, in tokens of the context it takes',
  async measure() {
    await using squad = new BenchSquad();
    const sizes = [];
    for (const mode of ['stateless', 'stateful']) {
      const client = squad.client({ STATE_MODE: mode });
      await client.initialize();
      const { tools } = (await client.request('tools/list', {})) as { tools: Tool[] };
      await client.close();
      sizes.push(
        single(`${mode}, ${tools.length} tools`, 'tokens', tokensOf(tools), {
          target: `≤ ${MOST_TOKENS}`,
          isMet: ({ value }) => value <= MOST_TOKENS,
          note: tools.map(tool => `${tool.name} ${tokensOf([tool])}`).join(', '),
        }),
      );
    }
    return sizes;
  },
};

/** UTF-8 bytes of what a model reads of a tool, four to a token: its title is for people. */
function tokensOf(tools: Tool[]): number {
  const texts = tools.flatMap(({ name, description = '', inputSchema, outputSchema }) => [
    name,
    description,
    JSON.stringify(inputSchema),
    outputSchema === undefined ? '' : JSON.stringify(outputSchema),
  ]);
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_A_TOKEN);
}
