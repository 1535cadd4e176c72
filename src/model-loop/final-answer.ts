import type { ModelCall } from './model-turn.ts';
import type { OfferedTool } from './tool.ts';

export const FINAL_ANSWER = 'final_answer';

/** What the model ends with when its answer has a form. */
export const finalAnswerTool = (outputSchema: Record<string, unknown>): OfferedTool => ({
  name: FINAL_ANSWER,
  description:
    'Gives the final answer and ends this conversation. Call it once, alone, when everything else is done: its arguments are the answer.',
  inputSchema: outputSchema,
});

export const finalCallIn = (calls: readonly ModelCall[]): ModelCall | undefined =>
  calls.find(({ name }) => name === FINAL_ANSWER);
