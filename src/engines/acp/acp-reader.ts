import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { Usage } from '../../schema/run.ts';
import { failureKind } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, list, sum, text } from '../json-line.ts';
import { Speech } from '../speech.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';
import { PROMPT_REQUEST, SESSION_REQUEST } from './acp-driver.ts';

/** Kinds of tools that are meant to change files. */
const EDITING = ['edit', 'delete', 'move'];

/** How an agent differs from what the protocol requires. */
export interface AcpDialect {
  /**
   * Usage that the agent reports. `prompt`: of each prompt, as Gemini CLI does. `process`: of all prompts of the process.
   * `chat_cost`: only the cost of the chat, because the tokens are those of the last request.
   */
  usage?: 'prompt' | 'process' | 'chat_cost';
  /** Messages of the agent's program, which are not part of the answer. */
  notes?: RegExp;
  /**
   * True if the agent repeats the messages of a loaded chat also after it has reported that the chat is loaded. Its list
   * of commands comes after them.
   */
  repeatsLate?: true;
}

/** Reads the output of an agent of the Agent Client Protocol. Only the reply to a prompt reports success. */
export function acpReader({ usage: reported = 'prompt', notes, repeatsLate }: AcpDialect = {}): EngineReader {
  const calls = new ToolCalls((_, call) => ({
    detail: text(call.title) || toolDetail(fields(call.rawInput)),
    edits: EDITING.includes(text(call.kind) ?? ''),
  }));
  const speech = new Speech();
  const names = new Map<string, string>();
  let input: number | null = null;
  let output: number | null = null;
  let ended = false;
  /** True if the agent did something since the last reply to a prompt. */
  let hasActed = true;
  /** False until the chat is loaded. */
  let isOpen = false;
  /** True while the agent repeats the messages of an earlier turn. Only repeated turns contain messages of the user. */
  let isRepeating = false;

  function opened({ result, error }: Fields): EngineEvent[] {
    if (error !== undefined) return end(failure(fields(error)));
    isOpen = true;
    const { sessionId, models } = fields(result);
    const chat = text(sessionId);
    const model = text(fields(models).currentModelId);
    return [
      ...(chat === null ? [] : [{ type: 'chat' as const, id: chat }]),
      ...(model === null ? [] : [{ type: 'model' as const, model }]),
    ];
  }

  function tool(call: Fields): EngineEvent[] {
    hasActed = true;
    const id = text(call.toolCallId) ?? '';
    const name = names.get(id) ?? text(call.kind) ?? 'tool';
    const isNew = !names.has(id);
    names.set(id, name);
    const begun = isNew ? [...speech.restart(), ...calls.begin(id, name, call)] : [];
    const isOver = call.status === 'completed' || call.status === 'failed';
    return isOver ? [...begun, ...calls.end(id, call.status === 'completed')] : begun;
  }

  function update(given: Fields): EngineEvent[] {
    const { sessionUpdate: kind, content, cost } = given;
    if (kind === 'user_message_chunk') isRepeating = repeatsLate === true;
    if (kind === 'available_commands_update') isRepeating = false;
    if (!isOpen || isRepeating) return [];
    if (kind === 'usage_update') return costOf(fields(cost));
    if (kind !== 'agent_message_chunk' && kind !== 'tool_call' && kind !== 'tool_call_update') return [];
    if (kind !== 'agent_message_chunk') return tool(given);
    hasActed = true;
    const said = text(fields(content).text) ?? '';
    return notes?.test(said) ? [{ type: 'note', text: said }] : speech.add(said);
  }

  function prompted({ result, error }: Fields): EngineEvent[] {
    if (error !== undefined) return [...speech.pause(), ...end(failure(fields(error)))];
    const { stopReason, _meta: meta, usage: used } = fields(result);
    const events = [
      ...speech.pause(),
      ...(reported === 'process' ? usageOfProcess(fields(used)) : usage(fields(fields(meta).quota))),
    ];
    // A message that joined the running prompt has the same answer.
    if (!hasActed) return events;
    hasActed = false;
    const last = stopReason === 'end_turn' ? speech.end() : stopped(text(stopReason) ?? 'unknown');
    speech.restart();
    return [...events, ...end(last)];
  }

  /**
   * Only Gemini CLI reports the tokens of each prompt. The sums that other agents report have a different meaning in
   * each.
   */
  function usage(quota: Fields): EngineEvent[] {
    const count = fields(quota.token_count);
    input = sum(input, amount(count.input_tokens));
    output = sum(output, amount(count.output_tokens));
    if (input === null && output === null) return [];
    const model = text(list(quota.model_usage)[0]?.model);
    return [
      ...(model === null ? [] : [{ type: 'model' as const, model }]),
      { type: 'usage', usage: { ...UNKNOWN, input, output } },
    ];
  }

  function costOf({ amount: cost, currency }: Fields): EngineEvent[] {
    // opencode reports 0 for a model without a price, although the cost is unknown.
    const costUsd = currency === 'USD' ? amount(cost) || null : null;
    if (reported !== 'chat_cost' || costUsd === null) return [];
    return [{ type: 'usage', usage: { ...UNKNOWN, costUsd }, runningTotals: ['costUsd'] }];
  }

  function end(event: EngineEnd): EngineEvent[] {
    ended = true;
    return [event];
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      if (event === null) return [];
      const params = fields(event.params);
      if (event.method === 'session/update') return update(fields(params.update));
      // Some agents report a tool call only in their request for permission.
      if (event.method === 'session/request_permission') return tool(fields(params.toolCall));
      if (event.method !== undefined) return [];
      if (event.id === SESSION_REQUEST) return opened(event);
      if (event.id === 'init') return event.error === undefined ? [] : end(failure(fields(event.error)));
      return typeof event.id === 'string' && isOpen ? prompted(event) : [];
    },
    tooLong(beginning) {
      if (beginning.includes('agent_message_chunk')) speech.miss();
      return beginning.includes(`"id":"${PROMPT_REQUEST}"`) ? end(speech.end()) : [];
    },
    finish: async exit => (ended ? [] : [...speech.pause(), ...(await stderrEnd(exit))]),
  };
}

const UNKNOWN: Usage = { input: null, output: null, cached: null, costUsd: null, costIsEstimated: false };

/** Input includes cached tokens. */
function usageOfProcess(used: Fields): EngineEvent[] {
  const [input, output] = [amount(used.inputTokens), amount(used.outputTokens)];
  if (input === null && output === null) return [];
  return [{ type: 'usage', usage: { ...UNKNOWN, input, output, cached: amount(used.cachedReadTokens) } }];
}

/** Error code of the protocol for an agent that needs a login. */
const AUTH_REQUIRED = -32_000;

function failure(error: Fields): EngineEnd {
  const message = text(error.message) ?? 'The agent failed and gave no reason.';
  const details = text(fields(error.data).details) ?? text(error.data);
  const whole = details === null ? message : `${message}: ${details}`;
  const code = error.code === AUTH_REQUIRED ? 'ENGINE_NOT_LOGGED_IN' : failureKind(whole);
  return { type: 'end', ok: false, answer: '', error: whole, code };
}

const REASONS: Readonly<Record<string, string>> = {
  cancelled: 'The turn was interrupted.',
  refusal: 'The model refused to continue.',
  max_tokens: 'The answer ended at the limit of output tokens.',
  max_turn_requests: 'The agent reached its limit of requests to the model.',
};

const stopped = (reason: string): EngineEnd => ({
  ...{ type: 'end', ok: false, answer: '' },
  error: REASONS[reason] ?? `The agent stopped: ${reason}.`,
});
