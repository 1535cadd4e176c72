import { type BareCli, stdioServer } from './options.ts';

export const claude: BareCli = ({ url, chat, mcp, schema, ungranted }) => {
  const allowed = ['Bash', 'Edit', 'Write', ...(mcp ? [`mcp__${mcp.name}`] : [])].join(',');
  return {
    args: [
      ...[
        '-p',
        '--output-format',
        'stream-json',
        '--verbose',
        '--model',
        'sonnet',
        '--permission-mode',
        'dontAsk',
      ],
      ...['--strict-mcp-config', '--system-prompt-snapshot', 'off', '--setting-sources', ''],
      ...(ungranted ? [] : ['--allowedTools', allowed]),
      ...(mcp ? ['--mcp-config', JSON.stringify({ mcpServers: { [mcp.name]: stdioServer(mcp) } })] : []),
      ...(schema ? ['--json-schema', JSON.stringify(schema)] : []),
      ...(chat ? ['--resume', chat] : []),
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'fake-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // MCP tools are in the first request instead of behind a search.
      ENABLE_TOOL_SEARCH: 'false',
      CLAUDE_CODE_MAX_RETRIES: '1',
    },
  };
};
