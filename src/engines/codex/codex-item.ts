import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import { type Fields, fields, list, number, text } from '../json-line.ts';
import { toolDetail } from '../tool-detail.ts';
import { RUN_SERVER } from './run-server.ts';

const TOOLS = new Set(['command_execution', 'file_change', 'mcp_tool_call', 'web_search']);

export const isTool = (item: Fields): boolean => TOOLS.has(text(item.type) ?? '');

/** An MCP tool by its server and name, the others by Codex's own word for them. */
export function toolName(item: Fields): string {
  if (item.type !== 'mcp_tool_call') return text(item.type) ?? '';
  const server = text(item.server) ?? '';
  return `mcp__${server === RUN_SERVER ? SQUAD_SERVER : server}__${text(item.tool) ?? ''}`;
}

export function describeItem(name: string, item: Fields): { detail: string; edits: boolean } {
  const files = list(item.changes).flatMap(change => text(change.path) ?? []);
  const own = text(item.command) ?? text(item.query) ?? files.join(', ');
  return { detail: own || toolDetail(fields(item.arguments)), edits: name === 'file_change' };
}

export function itemOk(item: Fields): boolean {
  const exitCode = number(item.exit_code);
  const failed =
    item.status === 'failed' || item.status === 'declined' || text(fields(item.error).message) !== null;
  return !failed && (exitCode === null || exitCode === 0);
}
