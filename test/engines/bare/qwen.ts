import { type BareCli, stdioServer } from './options.ts';

export const qwen: BareCli = ({ url, chat, mcp, schema, ungranted }) => ({
  args: [
    ...['--auth-type', 'openai', '--openai-base-url', `${url}/v1`, '--openai-api-key', 'fake-key'],
    ...['-m', 'mock-model', '-o', 'stream-json', '--approval-mode', ungranted ? 'default' : 'yolo'],
    ...(mcp ? ['--mcp-config', JSON.stringify({ mcpServers: { [mcp.name]: stdioServer(mcp) } })] : []),
    ...(schema ? ['--json-schema', JSON.stringify(schema)] : []),
    ...(chat ? ['--resume', chat] : []),
  ],
});
