import type { Peer } from './face.ts';

type Result = Record<string, unknown>;

/**
 * Gemini CLI takes a first text that is JSON for structured content, and where that is no object (a number, a list) throws the
 * whole result away as an error. An empty text before it keeps it from looking.
 */
export function readableResult<T extends Result>(result: T, client: Peer['client']): T {
  if (!client || !/^gemini-cli\b/i.test(client.name) || result.structuredContent) return result;
  const { content } = result;
  if (!Array.isArray(content) || !isJsonButNoObject(content[0]?.text)) return result;
  return { ...result, content: [{ type: 'text', text: '' }, ...content] };
}

function isJsonButNoObject(text: unknown): boolean {
  // What begins as an object is one, or no JSON.
  if (typeof text !== 'string' || /^\s*\{/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
