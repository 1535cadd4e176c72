import { basename } from 'node:path';
import { visibleLine } from '../../base/visible-text.ts';
import { checkMcpConfig, MCP_CONFIG_NAME } from '../../workspace/gateway/mcp-config-file.ts';
import { type McpSummary, summaryOf } from '../../workspace/gateway/mcp-summary.ts';
import type { CliContext } from '../context.ts';
import { padEnd } from '../terminal/width.ts';

/** What a configuration of other MCP servers would do, before somebody says yes to it; nothing for other files. */
export function serverSummaryLines(file: string, content: string, context: CliContext): string[] {
  if (basename(file) !== basename(MCP_CONFIG_NAME)) return [];
  const { config } = checkMcpConfig(content.replace(/^\ufeff/, ''));
  return config
    ? [context.style.bold('Once trusted, for agents at work here it'), ...linesOf(summaryOf(config)), '']
    : [];
}

function linesOf({ starts, reaches, reads, gives }: McpSummary): string[] {
  const groups: [string, string[]][] = [
    ['starts', starts.map(({ server, command }) => `${server}: ${command}`)],
    ['reaches', reaches.map(({ server, url }) => `${server}: ${url}`)],
    ['reads', reads.length > 0 ? [`${reads.join(', ')} of your environment`] : []],
    ['gives', gives.map(({ role, servers }) => `${role ?? 'every run'}: ${servers.join(', ') || 'nothing'}`)],
  ];
  return groups.flatMap(([verb, items]) =>
    items.map((item, at) => `  ${padEnd(at === 0 ? verb : '', 8)}${visibleLine(item)}`),
  );
}
