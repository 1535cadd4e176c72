import type { CallToolResult } from '@modelcontextprotocol/server';
import { isObject, tryParseJson } from '../../base/json.ts';
import type { Era, FinalToolResult, Peer, ToolDef } from './face.ts';

/** Some clients show the model only the text, others only the structured content, so both must have the same data. */
export function renderedResult(result: FinalToolResult): CallToolResult {
  if ('raw' in result) return result.raw;
  return {
    content: [{ type: 'text', text: JSON.stringify(result.structured) }],
    structuredContent: result.structured,
    ...(result.isError && { isError: true }),
  };
}

type Result = Record<string, unknown>;

/** Adapts a result to the client, so that its model reads all of it, and only once. */
export function readableResult<T extends Result>(result: T, client: Peer['client']): T {
  if (!client || !Array.isArray(result.content)) return result;
  if (/^(gemini-cli|qwen)-/i.test(client.name) && result.isError) return errorOnce(result);
  return /^gemini-cli-/i.test(client.name) ? withoutJsonFirst(result) : result;
}

/**
 * Gemini CLI and Qwen Code show their model an error result as JSON: text and structured content, in Qwen Code the text
 * twice. So the text is removed if the structured content has the same data.
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
 * Gemini CLI treats a first text that is JSON as structured content, and rejects the whole result if that JSON is not
 * an object (a number, a list). An empty text in front prevents that.
 */
function withoutJsonFirst<T extends Result>(result: T): T {
  const [first] = result.content as { text?: unknown }[];
  if (result.structuredContent || typeof first?.text !== 'string') return result;
  const said = tryParseJson(first.text);
  if (said === undefined || isObject(said)) return result;
  return { ...result, content: [{ type: 'text', text: '' }, ...(result.content as unknown[])] };
}

const texts: Record<Era, WeakMap<readonly ToolDef[], Buffer>> = {
  legacy: new WeakMap(),
  modern: new WeakMap(),
};

/**
 * A list of tools as JSON. Lists can be long, and many clients ask for the same one, so the bytes are
 * cached: a text would be copied and encoded for each answer.
 */
export function toolListText(tools: readonly ToolDef[], era: Era): Buffer {
  const made = texts[era].get(tools);
  if (made !== undefined) return made;
  const text = Buffer.from(JSON.stringify(toolsOfEra(tools, era)));
  texts[era].set(tools, text);
  return text;
}

/** Removes fields of other servers' tools that do not exist in this era. */
export function toolsOfEra(tools: readonly ToolDef[], era: Era): ToolDef[] {
  return tools.map(tool => {
    const { execution, ...withoutExecution } = tool;
    if (era === 'modern') return execution === undefined ? tool : withoutExecution;
    const { outputSchema, ...withoutOutput } = tool as ToolDef & { outputSchema?: unknown };
    return isObject(outputSchema) && outputSchema.type !== 'object' ? withoutOutput : tool;
  });
}
