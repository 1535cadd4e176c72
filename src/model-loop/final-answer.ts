import type { ModelCall } from './model-turn.ts';
import { saying, type Tool } from './tool.ts';

export const FINAL_ANSWER = 'final_answer';

/** What the model ends with when its answer has a form. Called as a tool, which is beside others, it refuses. */
export const finalAnswerTool = (outputSchema: Record<string, unknown>): Tool => ({
  name: FINAL_ANSWER,
  description:
    'Gives the final answer and ends this conversation: its arguments are the answer. Call it once, when the results of everything else are here. It must be the only call of its turn; beside other calls it is refused.',
  inputSchema: outputSchema,
  call: async () => saying(false, NOT_ALONE),
});

const NOT_ALONE = `Not taken: ${FINAL_ANSWER} must be the only call of its turn. The results of the other calls are here; when you have read them, call it again, alone.`;

/**
 * The call that ends it; null while the model goes on. Beside another call it ends nothing: what that brings was not known when the
 * answer was written, and of two answers nobody knows which is meant.
 */
export function onlyFinalCall(calls: readonly ModelCall[]): ModelCall | null {
  const [first, ...others] = calls;
  return first?.name === FINAL_ANSWER && others.length === 0 ? first : null;
}
