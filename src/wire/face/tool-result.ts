import type { CallToolResult } from '@modelcontextprotocol/server';
import { isObject, tryParseJson } from '../../base/json.ts';
import type { Era, FinalToolResult, Peer, ToolDef } from './face.ts';

/** Some clients show the model the text, some the structured content: both must say the same. */
export function renderedResult(result: FinalToolResult): CallToolResult {
  if ('raw' in result) return result.raw;
  return {
    content: [{ type: 'text', text: JSON.stringify(result.structured) }],
    structuredContent: result.structured,
    ...(result.isError && { isError: true }),
  };
}

type Result = Record<string, unknown>;

/** A result as this client needs it, so that its model reads all of it, and once. */
export function readableResult<T extends Result>(result: T, client: Peer['client']): T {
  if (!client || !Array.isArray(result.content)) return result;
  if (/^(gemini-cli|qwen)-/i.test(client.name) && result.isError) return errorOnce(result);
  return /^gemini-cli-/i.test(client.name) ? withoutJsonFirst(result) : result;
}

/**
 * Gemini CLI and Qwen Code show their model an error as the whole result in JSON: its text, its structured content, and in
 * Qwen the text once more. So the text goes where the structured content says the same.
 */
function errorOnce<T extends Result>(result: T): T {
  const [first, ...more] = result.content as { type?: unknown; text?: unknown }[];
  if (more.length > 0 || typeof first?.text !== 'string') return result;
  const said = tryParseJson(first.text);
  const { structuredContent = said } = result;
  const isSame = isObject(said) && JSON.stringify(structuredContent) === JSON.stringify(said);
  return isSame ? { ...result, content: [], structuredContent } : result;
}

/**
 * Gemini CLI takes a first text that is JSON for structured content, and where that is no object (a number, a list) throws the
 * whole result away as an error. An empty text before it keeps it from looking.
 */
function withoutJsonFirst<T extends Result>(result: T): T {
  const [first] = result.content as { text?: unknown }[];
  if (result.structuredContent || typeof first?.text !== 'string') return result;
  const said = tryParseJson(first.text);
  if (said === undefined || isObject(said)) return result;
  return { ...result, content: [{ type: 'text', text: '' }, ...(result.content as unknown[])] };
}

const texts: Record<Era, WeakMap<readonly ToolDef[], string>> = {
  legacy: new WeakMap(),
  modern: new WeakMap(),
};

/** A list of tools as JSON. Lists can be long, and the same one is asked for by many: its text is made once. */
export function toolListText(tools: readonly ToolDef[], era: Era): string {
  const made = texts[era].get(tools);
  if (made !== undefined) return made;
  const text = JSON.stringify(toolsOfEra(tools, era));
  texts[era].set(tools, text);
  return text;
}

/** Without what other servers may say of their tools in words that this era does not have. */
export function toolsOfEra(tools: readonly ToolDef[], era: Era): ToolDef[] {
  const foreign = era === 'modern' ? saysHowItRuns : returnsNoObject;
  const word = era === 'modern' ? 'execution' : 'outputSchema';
  return tools.map(tool => (foreign(tool) ? without(tool, word) : tool));
}

const saysHowItRuns = (tool: ToolDef) => 'execution' in tool;
const returnsNoObject = ({ outputSchema }: { outputSchema?: unknown }) =>
  isObject(outputSchema) && outputSchema.type !== 'object';

function without(tool: ToolDef, word: string): ToolDef {
  return Object.fromEntries(Object.entries(tool).filter(([key]) => key !== word)) as unknown as ToolDef;
}
