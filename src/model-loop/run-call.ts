import type { ModelCall } from './model-turn.ts';
import { answerText, type CallTelling, saying, type Tool, type ToolAnswer } from './tool.ts';

/** Does what the model asked for. A call that cannot be made is answered with why, and the model goes on. */
export async function runCall(
  { id, name, input, problem }: ModelCall,
  tools: readonly Tool[],
  signal: AbortSignal,
  { say, trace }: Omit<CallTelling, 'id'>,
): Promise<ToolAnswer> {
  say({ type: 'tool', id, name, detail: typeof input === 'string' ? input : JSON.stringify(input) });
  const answer = await answerOf();
  say({ type: 'tool_end', id, name, ok: answer.ok, detail: answerText(answer) });
  return answer;

  async function answerOf(): Promise<ToolAnswer> {
    const tool = tools.find(offered => offered.name === name);
    if (!tool) return saying(false, `There is no tool ${JSON.stringify(name)}. There is: ${namesOf(tools)}.`);
    if (problem !== null) return saying(false, problem);
    try {
      return await tool.call(input as Record<string, unknown>, signal, { id, say, trace });
    } catch (thrown) {
      signal.throwIfAborted();
      return saying(false, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
}

const namesOf = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(', ') || 'none';
