import type { JsonSchema, RunError } from '../../schema/run.ts';
import { longestStart } from './digest.ts';
import { mismatch } from './json-schema.ts';

const SHOWN_TEXT = 1_000;

/** The answer as a value that keeps to the schema, or why it is none. The text itself stays the run's result. */
export async function structuredAnswer(
  schema: JsonSchema,
  answer: string,
  given: unknown,
): Promise<{ value: unknown } | { error: RunError }> {
  const value = given === undefined ? valueIn(withoutFence(answer)) : given;
  const fault = value === undefined ? 'it is not JSON' : await mismatch(schema, value);
  if (fault === null) return { value };
  const shown = answer === '' ? 'It said nothing.' : `It said: ${longestStart(answer, SHOWN_TEXT)}`;
  return {
    error: {
      code: 'OUTPUT_MISMATCH',
      message: `The answer does not match its output schema: ${fault}. ${shown}`,
    },
  };
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const FENCE = '```';

/** Models like to wrap what they were asked to give bare. */
function withoutFence(answer: string): string {
  const text = answer.trim();
  const open = text.indexOf('\n');
  if (!text.startsWith(FENCE) || !text.endsWith(FENCE) || open < 0 || open > text.length - FENCE.length)
    return answer;
  const language = text.slice(FENCE.length, open).trim();
  return language === '' || language === 'json' ? text.slice(open, -FENCE.length) : answer;
}
