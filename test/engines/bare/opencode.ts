import type { BareCli, BareOptions } from './options.ts';

export const opencode: BareCli = options => ({
  args: [
    // A title given is a model request less.
    ...['run', '--format', 'json', '--title', 'T', '-m', 'mock/mock-model'],
    ...(options.chat ? ['-s', options.chat] : []),
  ],
  env: {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config(options)),
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_PROJECT_CONFIG: '1',
    OPENCODE_DISABLE_CLAUDE_CODE: '1',
  },
});

const config = ({ url, mcp, ungranted }: BareOptions) => ({
  autoupdate: false,
  share: 'disabled',
  provider: {
    mock: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Mock',
      options: { baseURL: `${url}/v1`, apiKey: 'fake-key' },
      models: { 'mock-model': MODEL },
    },
  },
  permission: ungranted ? { bash: 'ask' } : { '*': 'allow' },
  ...(mcp && { mcp: { [mcp.name]: { type: 'local', command: mcp.argv, environment: {} } } }),
});

const MODEL = {
  limit: { context: 200_000, output: 8000 },
  tool_call: true,
  cost: { input: 3, output: 15 },
};
