import { isObject } from '../http/plain-request.ts';
import type { Era, ToolDef } from './face.ts';

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
