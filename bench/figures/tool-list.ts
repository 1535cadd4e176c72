import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchSquad } from '../bench-squad.ts';
import { type Figure, single } from '../figure.ts';

/** Limit for the tool list and the instructions together. */
const MAX_TOKENS = 1800;
const BYTES_A_TOKEN = 4;

interface Tool {
  name: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: unknown;
}

/** Context that the tool list takes from every conversation before its first prompt. */
export const toolList: Figure = {
  name: 'tool-list',
  title: 'Tool list, in tokens of the context it takes',
  async measure() {
    await using squad = new BenchSquad();
    // Makes every agent CLI available, because tools for one CLI are listed only if it is installed.
    const clis = join(squad.root, 'clis');
    mkdirSync(clis);
    for (const name of ['claude', 'codex']) writeFileSync(join(clis, name), '', { mode: 0o755 });
    const PATH = `${clis}:${squad.env().PATH}`;
    const sizes = [];
    for (const mode of ['stateless', 'stateful']) {
      const client = squad.client({ STATE_MODE: mode, PATH });
      await client.initialize();
      const { tools } = (await client.request('tools/list', {})) as { tools: Tool[] };
      await client.close();
      const instructions = tokens(client.instructions);
      sizes.push(
        single(
          `${mode}, ${tools.length} tools and the instructions`,
          'tokens',
          tokensOf(tools) + instructions,
          {
            target: `≤ ${MAX_TOKENS}`,
            isMet: ({ value }) => value <= MAX_TOKENS,
            note: [
              `instructions ${instructions}`,
              ...tools.map(tool => `${tool.name} ${tokensOf([tool])}`),
            ].join(', '),
          },
        ),
      );
    }
    return sizes;
  },
};

/** Tokens of the parts of a tool that a model reads, at four UTF-8 bytes per token. The title is only for people. */
function tokensOf(tools: Tool[]): number {
  return tokens(
    ...tools.flatMap(({ name, description = '', inputSchema, outputSchema }) => [
      name,
      description,
      JSON.stringify(inputSchema),
      outputSchema === undefined ? '' : JSON.stringify(outputSchema),
    ]),
  );
}

const tokens = (...texts: string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_A_TOKEN);
