import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { failureKind } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, sum, text } from '../json-line.ts';
import { Speech } from '../speech.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';
import { PROMPT_REQUEST, SESSION_REQUEST } from './acp-driver.ts';

/** Kinds of tools that are meant to change files. */
const EDITING = ['edit', 'delete', 'move'];

/** Reads the output of an agent of the Agent Client Protocol. Only the reply to a prompt reports success. */
export function acpReader(): EngineReader {
  const calls = new ToolCalls((_, call) => ({
    detail: text(call.title) || toolDetail(fields(call.rawInput)),
    edits: EDITING.includes(text(call.kind) ?? ''),
  }));
  const speech = new Speech();
  const names = new Map<string, string>();
  let input: number | null = null;
  let output: number | null = null;
  let ended = false;
  /** False while the agent repeats the messages of an earlier turn. */
  let isOpen = false;

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
    const id = text(call.toolCallId) ?? '';
    const name = names.get(id) ?? text(call.kind) ?? 'tool';
    const isNew = !names.has(id);
    names.set(id, name);
    const begun = isNew ? [...speech.restart(), ...calls.begin(id, name, call)] : [];
    const isOver = call.status === 'completed' || call.status === 'failed';
    return isOver ? [...begun, ...calls.end(id, call.status === 'completed')] : begun;
  }

  function update(given: Fields): EngineEvent[] {
    const { sessionUpdate: kind, content } = given;
    if (kind === 'agent_message_chunk') return speech.add(text(fields(content).text) ?? '');
    return kind === 'tool_call' || kind === 'tool_call_update' ? tool(given) : [];
  }

  function prompted({ result, error }: Fields): EngineEvent[] {
    if (error !== undefined) return [...speech.pause(), ...end(failure(fields(error)))];
    const { stopReason, _meta: meta } = fields(result);
    const events = [...speech.pause(), ...usage(fields(fields(fields(meta).quota).token_count))];
    const last = stopReason === 'end_turn' ? speech.end() : stopped(text(stopReason) ?? 'unknown');
    speech.restart();
    return [...events, ...end(last)];
  }

  /**
   * Only Gemini CLI reports the tokens of each prompt. The sums that other agents report have a different meaning in
   * each.
   */
  function usage(count: Fields): EngineEvent[] {
    input = sum(input, amount(count.input_tokens));
    output = sum(output, amount(count.output_tokens));
    if (input === null && output === null) return [];
    return [{ type: 'usage', usage: { input, output, cached: null, costUsd: null, costIsEstimated: false } }];
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
      if (event.method === 'session/update') return isOpen ? update(fields(params.update)) : [];
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

function failure(error: Fields): EngineEnd {
  const message = text(error.message) ?? 'The agent failed and gave no reason.';
  const details = text(fields(error.data).details) ?? text(error.data);
  const whole = details === null ? message : `${message}: ${details}`;
  return { type: 'end', ok: false, answer: '', error: whole, code: failureKind(whole) };
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
