import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BareCli, BareMcp } from './options.ts';

export const codex: BareCli = ({ url, home, cwd, chat, mcp, schema, ungranted = false }) => {
  const schemaFile = join(home, 'schema.json');
  if (schema) writeFileSync(schemaFile, JSON.stringify(schema));
  return {
    args: [
      // A model it does not know gets the plain tool list.
      ...['exec', '--json', '--skip-git-repo-check', '-m', 'mock-model', '-C', cwd],
      ...['-s', ungranted ? 'read-only' : 'workspace-write'],
      ...['-c', 'model_provider="mock"', '-c', `model_providers.mock=${provider(url)}`],
      ...['-c', 'analytics.enabled=false', '-c', 'check_for_update_on_startup=false'],
      ...['--disable', 'plugins', '--disable', 'apps'],
      ...(mcp ? ['-c', mcpServer(mcp, ungranted)] : []),
      ...(schema ? ['--output-schema', schemaFile] : []),
      ...(chat ? ['resume', chat] : []),
      '-',
    ],
    env: { MOCK_KEY: 'fake-key' },
  };
};

const provider = (url: string) =>
  `{name="mock",base_url="${url}/v1",env_key="MOCK_KEY",wire_api="responses",request_max_retries=1,stream_max_retries=1}`;

function mcpServer({ name, argv: [command, ...args] }: BareMcp, ungranted: boolean): string {
  const approval = ungranted ? '' : ',default_tools_approval_mode="approve"';
  return `mcp_servers.${name}={command=${JSON.stringify(command)},args=${JSON.stringify(args)}${approval}}`;
}
