import { join } from 'node:path';
import { type BareCli, stdioServer } from './options.ts';

/** Its output has no tokens; this file has, after it ended. */
export const copilotUsageFile = (home: string) => join(home, 'usage.json');

export const copilot: BareCli = ({ url, home, chat, mcp, ungranted }) => ({
  args: [
    ...['--output-format', 'json', '--no-color', '--no-ask-user', '--no-auto-update'],
    ...['--usage-output-file', copilotUsageFile(home)],
    ...(ungranted ? [] : ['--allow-all-tools']),
    ...(mcp ? ['--additional-mcp-config', JSON.stringify({ mcpServers: { [mcp.name]: server(mcp) } })] : []),
    ...(chat ? [`--resume=${chat}`] : []),
  ],
  env: {
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_API_KEY: 'fake-key',
    COPILOT_MODEL: 'mock-model',
    COPILOT_OFFLINE: 'true',
  },
});

const server = (mcp: Parameters<typeof stdioServer>[0]) => ({
  ...stdioServer(mcp),
  type: 'local',
  tools: ['*'],
});
