import type { EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { amount, type Fields, fields, fieldsOf, list, text } from '../json-line.ts';
import { answerTooLong, longLineType } from '../long-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { streamJsonEnd } from '../stream-json-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';

/** Reads `--output-format stream-json`: Claude Code's format with different tool calls. Only `result` ends a turn. */
export function cursorReader(): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: EDITING.includes(name),
  }));
  let ended = false;

  return {
    line(line) {
      const event = fieldsOf(line);
      if (event?.type === 'system' && event.subtype === 'init') return begun(event);
      if (event?.type === 'assistant') return said(event);
      if (event?.type === 'tool_call') return toolCall(event, calls);
      if (event?.type !== 'result') return [];
      ended = true;
      return [...usageIn(event), streamJsonEnd(event)];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      if (type !== 'result' && type !== 'unknown') return [];
      ended = true;
      return [answerTooLong()];
    },
    finish: async exit => (ended ? [] : stderrEnd(exit)),
  };
}

const EDITING = ['edit', 'write', 'delete'];

function begun(line: Fields): EngineEvent[] {
  const chat = text(line.session_id);
  const model = text(line.model);
  return [
    ...(chat ? [{ type: 'chat' as const, id: chat }] : []),
    ...(model ? [{ type: 'model' as const, model }] : []),
  ];
}

function said(line: Fields): EngineEvent[] {
  const content = list(fields(line.message).content)
    .map(part => text(part.text) ?? '')
    .join('')
    .trim();
  return content ? [{ type: 'text', text: content }] : [];
}

/** The name of the only field is the kind of the tool call: `{"shellToolCall":{"args":{…},"result":{…}}}`. */
function toolCall(line: Fields, calls: ToolCalls): EngineEvent[] {
  const id = text(line.call_id);
  const [kind = '', call] = Object.entries(fields(line.tool_call))[0] ?? [];
  const { args, result, name } = fields(call);
  const tool = kind === 'function' ? text(name) : kind.replace(/ToolCall$/, '');
  if (line.subtype === 'started') return calls.begin(id, tool || null, fields(args));
  if (line.subtype !== 'completed') return [];
  const outcome = fields(result);
  if ('rejected' in outcome || 'permissionDenied' in outcome) calls.deny(id);
  return calls.end(id, !('error' in outcome || 'failure' in outcome));
}

/** Usage is not documented, but some versions of Cursor print it. */
function usageIn(line: Fields): EngineEvent[] {
  const usage = fields(line.usage);
  const input = amount(usage.inputTokens);
  const output = amount(usage.outputTokens);
  if (input === null && output === null) return [];
  const cached = amount(usage.cacheReadTokens);
  return [{ type: 'usage', usage: { input, output, cached, costUsd: null, costIsEstimated: false } }];
}
