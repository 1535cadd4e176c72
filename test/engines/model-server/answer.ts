/** From a step to the model's answer, with what it counts for. */
import { createHash, randomUUID } from 'node:crypto';
import { type Answer, argumentsText, type Conversation, type ToolCall, type Usage } from './conversation.ts';
import type { Step } from './script.ts';
import { callsFor } from './tool-choice.ts';

const CHARACTERS_PER_TOKEN = 4;

export function answerFor(step: Step, conversation: Conversation): Answer {
  const { text, calls } = contentOf(step, conversation);
  const id = randomUUID().replaceAll('-', '').slice(0, 24);
  const made = calls.map((call, index) => ({ ...call, id: index === 0 ? id : `${id}${index}` }));
  const { thinking = '', stop = null } = step;
  return { thinking, stop, text, calls: made, id, usage: usageOf(step, conversation, text, calls) };
}

function contentOf(step: Step, conversation: Conversation): { text: string; calls: ToolCall[] } {
  try {
    const calls = callsFor(step, conversation);
    return { text: textOf(step, calls), calls };
  } catch (error) {
    // Said in the answer, so that a test that sees the wrong answer sees why.
    return { text: `Cannot do this step: ${(error as Error).message}`, calls: [] };
  }
}

function textOf({ text, bytes, structured }: Step, calls: ToolCall[]): string {
  if (text !== undefined || calls.length > 0) return text ?? '';
  if (bytes !== undefined) return longText(bytes);
  return structured ? JSON.stringify(structured) : 'ok';
}

function usageOf({ usage = {} }: Step, { turns }: Conversation, text: string, calls: ToolCall[]): Usage {
  const read = turns.reduce((sum, turn) => sum + turn.text.length, 0);
  const written = calls.reduce((sum, call) => sum + argumentsText(call).length, text.length);
  const input = usage.input ?? Math.ceil(read / CHARACTERS_PER_TOKEN);
  const cached = Math.min(usage.cached ?? 0, input);
  return { input, output: usage.output ?? Math.ceil(written / CHARACTERS_PER_TOKEN), cached };
}

/** No part of it comes twice: Gemini CLI stops a model that repeats itself. */
function longText(bytes: number): string {
  const words = Array.from({ length: Math.ceil(bytes / 40) }, (_, at) =>
    createHash('sha1').update(`${at}`).digest('hex'),
  );
  return words.join('').slice(0, bytes);
}
