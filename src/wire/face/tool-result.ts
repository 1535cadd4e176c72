import type { CallToolResult } from '@modelcontextprotocol/server';
import type { FinalToolResult } from './face.ts';

/** Some clients show the model the text, some the structured content: both must say the same. */
export function renderedResult(result: FinalToolResult): CallToolResult {
  if ('raw' in result) return result.raw;
  return {
    content: [{ type: 'text', text: JSON.stringify(result.structured) }],
    structuredContent: result.structured,
    ...(result.isError && { isError: true }),
  };
}
