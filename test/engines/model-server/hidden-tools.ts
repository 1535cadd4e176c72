/** Tools a CLI has but does not list: they are reached through another tool. */
import type { Conversation, ToolCall } from './conversation.ts';

export function hiddenCall(
  name: string,
  args: Record<string, unknown>,
  conversation: Conversation,
): ToolCall | null {
  return inJavaScript(name, args, conversation) ?? deferred(name, args, conversation);
}

/** Codex's own models have one tool, a program in JavaScript in which the others are functions. */
function inJavaScript(name: string, args: Record<string, unknown>, { tools }: Conversation): ToolCall | null {
  const tool = tools.find(offered => offered.name === 'exec' && offered.takesText);
  const [exact, ending] = [JSON.stringify(name), JSON.stringify(`_${name}`)];
  const input = [
    `const name = Object.keys(tools).find(key => key === ${exact} || key.endsWith(${ending})) ?? ${exact};`,
    `text(JSON.stringify(await tools[name](${JSON.stringify(args)})));`,
  ].join('\n');
  return tool ? { tool, arguments: { input } } : null;
}

/** Qwen names its MCP tools in a message and calls them through `tool_call`. */
function deferred(
  name: string,
  args: Record<string, unknown>,
  { tools, system, turns }: Conversation,
): ToolCall | null {
  const tool = tools.find(offered => offered.name === 'tool_call');
  const told = [system, ...turns.filter(({ by }) => by === 'user').map(({ text }) => text)].join('\n');
  const [known] = told.match(new RegExp(`\\bmcp__\\w+__${name}\\b`)) ?? [];
  return tool && known ? { tool, arguments: { name: known, arguments: args } } : null;
}
