/** From a step to the model's answer, with what it counts for. */
import { randomUUID } from 'node:crypto';
import type { Answer, Conversation, ToolCall, Usage } from './conversation.ts';
import type { Step } from './script.ts';
import { callFor } from './tool-choice.ts';

const CHARACTERS_PER_TOKEN = 4;

export function answerFor(step: Step, conversation: Conversation): Answer {
  const { text, call } = contentOf(step, conversation);
  const id = randomUUID().replaceAll('-', '').slice(0, 24);
  return { text, call, id, usage: usageOf(step, conversation, text, call) };
}

function contentOf(step: Step, conversation: Conversation): { text: string; call: ToolCall | null } {
  try {
    const call = callFor(step, conversation);
    return { text: textOf(step, call), call };
  } catch (error) {
    // Said in the answer, so that a test that sees the wrong answer sees why.
    return { text: `Cannot do this step: ${(error as Error).message}`, call: null };
  }
}

function textOf({ text, bytes, structured }: Step, call: ToolCall | null): string {
  if (text !== undefined || call) return text ?? '';
  if (bytes !== undefined) return 'The quick brown fox. '.repeat(Math.ceil(bytes / 21)).slice(0, bytes);
  return structured ? JSON.stringify(structured) : 'ok';
}

function usageOf({ usage = {} }: Step, { turns }: Conversation, text: string, call: ToolCall | null): Usage {
  const read = turns.reduce((sum, turn) => sum + turn.text.length, 0);
  const written = text.length + (call ? JSON.stringify(call.arguments).length : 0);
  const input = usage.input ?? Math.ceil(read / CHARACTERS_PER_TOKEN);
  const cached = Math.min(usage.cached ?? 0, input);
  return { input, output: usage.output ?? Math.ceil(written / CHARACTERS_PER_TOKEN), cached };
}
