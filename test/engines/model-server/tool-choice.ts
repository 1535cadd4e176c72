/** Finds, among the tools a CLI offers, the one that does what a step asks for, and words the call as that tool wants it. */
import { isAbsolute, join } from 'node:path';
import type { Conversation, OfferedTool, ToolCall } from './conversation.ts';
import { hiddenCall } from './hidden-tools.ts';
import type { Step } from './script.ts';

const SHELLS = ['Bash', 'bash', 'exec_command', 'run_shell_command', 'shell_command', 'shell'];
const WRITERS = ['Write', 'write_file', 'write', 'create'];

/** Every call a step makes. */
export function callsFor(step: Step, conversation: Conversation): ToolCall[] {
  if (step.calls)
    return step.calls.map(({ call, arguments: args = {} }) => namedCall(call, args, conversation));
  const call = callFor(step, conversation);
  return call === null ? [] : [{ ...call, malformed: step.malformed }];
}

/** The call a step makes; null for a step that only speaks. Throws when the CLI offers nothing fitting. */
export function callFor(step: Step, conversation: Conversation): ToolCall | null {
  const { tools } = conversation;
  if (step.shell !== undefined) return shellCall(step.shell, conversation);
  if (step.write) return writeCall(step.write, conversation);
  if (step.call !== undefined) return namedCall(step.call, step.arguments ?? {}, conversation);
  if (step.invented !== undefined)
    return { tool: { name: step.invented, parameters: {} }, arguments: step.arguments ?? {} };
  if (step.unlisted !== undefined) return unlistedCall(step.unlisted, step.arguments ?? {}, conversation);
  const structured = step.structured && tools.find(({ name }) => /^structured_?output$/i.test(name));
  return structured ? { tool: structured, arguments: step.structured! } : null;
}

function shellCall(command: string, conversation: Conversation): ToolCall {
  const tool = firstOf(SHELLS, conversation);
  if (!tool)
    return orRefuse(hiddenCall('exec_command', { cmd: command }, conversation), 'a shell', conversation);
  const key = has(tool, 'cmd') ? 'cmd' : 'command';
  const value = tool.parameters.properties?.[key]?.type === 'array' ? ['sh', '-c', command] : command;
  return complete(tool, { [key]: value });
}

function writeCall({ path, content }: NonNullable<Step['write']>, conversation: Conversation): ToolCall {
  const tool = firstOf(WRITERS, conversation);
  // Some CLIs only write through their shell.
  if (!tool) return shellCall(`printf %s ${quoted(content)} > ${quoted(path)}`, conversation);
  const where = ['file_path', 'filePath', 'path'].find(name => has(tool, name)) ?? 'path';
  return complete(tool, {
    [where]: isAbsolute(path) ? path : join(folderOf(conversation), path),
    [has(tool, 'file_text') ? 'file_text' : 'content']: content,
  });
}

function namedCall(name: string, args: Record<string, unknown>, conversation: Conversation): ToolCall {
  const { tools } = conversation;
  const tool =
    tools.find(offered => fullName(offered) === name) ?? tools.find(offered => endsIn(offered, name));
  return tool ? complete(tool, args) : orRefuse(hiddenCall(name, args, conversation), name, conversation);
}

/** Named after a tool that the same server has for every agent. */
function unlistedCall(name: string, args: Record<string, unknown>, conversation: Conversation): ToolCall {
  const sister = namedCall('squad_status', {}, conversation).tool;
  return { tool: { ...sister, name: sister.name.replace(/squad_status$/, name) }, arguments: args };
}

export const fullName = ({ namespace, name }: OfferedTool) => (namespace ? `${namespace}__${name}` : name);

const endsIn = (tool: OfferedTool, name: string) =>
  ['_', '-', '.'].some(separator => fullName(tool).endsWith(separator + name));

const firstOf = (names: string[], { tools }: Conversation) =>
  names.map(name => tools.find(tool => tool.name === name && !tool.takesText)).find(Boolean);

const has = (tool: OfferedTool, property: string) => property in (tool.parameters.properties ?? {});

/** Where the CLI says it works: some file tools want whole paths, and only the agent knows the folder. */
function folderOf({ system, turns }: Conversation): string {
  const told = [system, ...turns.map(({ text }) => text)].join('\n');
  return /\b(?:working|current) (?:in the )?directory[^\w\n/]{1,8}(\/[^\s<>`"']+)/i.exec(told)?.[1] ?? '';
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function orRefuse(call: ToolCall | null, wanted: string, { tools }: Conversation): ToolCall {
  if (call) return call;
  throw new Error(
    `the CLI offers no tool for ${wanted}; it offers ${tools.map(fullName).join(', ') || 'none'}`,
  );
}

/** Some tools insist on arguments a step need not know of: a description, a mode. */
function complete(tool: OfferedTool, given: Record<string, unknown>): ToolCall {
  const { properties = {}, required = [] } = tool.parameters;
  const rest = required
    .filter(name => !(name in given))
    .map(name => [name, anyValue(properties[name] ?? {})]);
  return { tool, arguments: { ...given, ...Object.fromEntries(rest) } };
}

function anyValue({ type, enum: values }: { type?: string | string[]; enum?: unknown[] }): unknown {
  if (values) return values[0];
  const kind = [type ?? 'string'].flat()[0];
  const byKind: Record<string, unknown> = { boolean: false, number: 1, integer: 1, array: [], object: {} };
  return byKind[kind!.toLowerCase()] ?? 'scripted';
}
