import type { ModelCall } from './model-turn.ts';
import type { Say } from './print-line.ts';
import { answerText, saying, type Tool, type ToolAnswer } from './tool.ts';

const LONGEST_DETAIL = 200;

/** Does what the model asked for. A call that cannot be made is answered with why, and the model goes on. */
export async function runCall(
  { id, name, input, problem }: ModelCall,
  tools: readonly Tool[],
  signal: AbortSignal,
  say: Say,
): Promise<ToolAnswer> {
  say({ type: 'tool', id, name, detail: cut(typeof input === 'string' ? input : JSON.stringify(input)) });
  const answer = await answerOf();
  say({ type: 'tool_end', id, name, ok: answer.ok, detail: cut(answerText(answer)) });
  return answer;

  async function answerOf(): Promise<ToolAnswer> {
    const tool = tools.find(offered => offered.name === name);
    if (!tool) return saying(false, `There is no tool ${JSON.stringify(name)}. There is: ${namesOf(tools)}.`);
    if (problem !== null) return saying(false, problem);
    try {
      return await tool.call(input as Record<string, unknown>, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      return saying(false, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}

const namesOf = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(', ') || 'none';

const cut = (text: string): string =>
  text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL).toWellFormed()}…` : text;
