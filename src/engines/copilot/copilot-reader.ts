import type { EngineEnd, EngineEvent, EngineReader, UsageFigure } from '../../core/ports/engine.ts';
import { failureKind } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, number, sum, text } from '../json-line.ts';
import { answerTooLong, longLineType } from '../long-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';
import { USAGE_FILE } from './copilot-command.ts';
import { EDITING } from './copilot-tools.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/**
 * Reads `--output-format json`. A killed agent still prints a normal `result`. Only `assistant.idle` shows that it
 * was aborted.
 */
export function copilotReader(): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: EDITING.includes(name),
  }));
  /** Null if the answer was too long to read. */
  let answer: string | null = '';
  let model: string | null = null;
  let aborted = false;
  let error: Fields = {};
  let ended = false;

  function said(data: Fields): EngineEvent[] {
    const message = (text(data.content) ?? '').trim();
    // Text of a sub-agent is not this agent's answer.
    if (!message || text(data.parentToolCallId) !== null) return [];
    error = {};
    if (NO_ANSWER.test(message)) {
      error = { message: message };
      return [{ type: 'note', text: message }];
    }
    answer = message;
    return [{ type: 'text', text: message }];
  }

  function modelOf(data: Fields): EngineEvent[] {
    const name = text(data.model);
    if (!name || name === model) return [];
    model = name;
    return [{ type: 'model', model }];
  }

  const success = (): EngineEnd =>
    answer === null ? answerTooLong() : { type: 'end', ok: true, answer, error: null };

  function result(line: Fields): EngineEvent[] {
    ended = true;
    const chat = text(line.sessionId);
    const ok = line.exitCode === 0 && !aborted && !NO_ANSWER.test(text(error.message) ?? '');
    const end = ok ? success() : failure(error, aborted);
    return [...(chat ? [{ type: 'chat' as const, id: chat }] : []), end];
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      const data = fields(event?.data);
      switch (event?.type) {
        case 'model.call_start':
          return modelOf(data);
        case 'assistant.message':
          return said(data);
        case 'tool.execution_start':
          return calls.begin(text(data.toolCallId), text(data.toolName), fields(data.arguments));
        case 'tool.execution_complete':
          return toolEnded(data, calls);
        case 'assistant.turn_retry':
          return [{ type: 'note', text: `Asks the model again: ${text(data.reason) ?? 'no reason given'}` }];
        case 'model.call_failure':
          error = { message: failureText(data), statusCode: data.statusCode };
          return [callFailed(data)];
        case 'session.error':
          error = data;
          return [];
        case 'assistant.idle':
          aborted ||= data.aborted === true;
          return [];
        case 'result':
          return result(event);
        default:
          return [];
      }
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      if (type === 'assistant.message' || type === 'unknown') answer = null;
      return [];
    },
    finish: async exit => [
      ...usageInFile(await exit.file(USAGE_FILE)),
      ...(ended ? [] : await withoutResult(error, exit)),
    ],
  };
}

/**
 * Text that Copilot prints in place of an answer that the provider blocked. Its result reports success all the same.
 */
const NO_ANSWER = /^The model returned no content because /;

function failureText({ errorMessage }: Fields): string {
  const said = text(errorMessage) ?? 'no message';
  return `The model's API failed: ${text(fieldsOf(said)?.message) ?? said}`;
}

/** The event of a failed request does not say when the request is repeated. The next event does. */
function callFailed(data: Fields): EngineEvent {
  const message = failureText(data);
  const status = number(data.statusCode);
  return {
    type: 'note',
    text: status === null ? message : `${message} (${status})`,
    retry: { code: kind(message, status), waitMs: null },
  };
}

function toolEnded(data: Fields, calls: ToolCalls): EngineEvent[] {
  if (fields(data.error).code === 'denied') calls.deny(text(data.toolCallId));
  // Copilot counts a failed command as a successful tool call.
  const exitCode = number(fields(data.shellExecution).exitCode) ?? 0;
  return calls.end(text(data.toolCallId), data.success === true && exitCode === 0);
}

function failure(error: Fields, aborted: boolean): EngineEnd {
  const said = text(error.message);
  const message =
    said ?? (aborted ? 'It was interrupted before it was done.' : 'Copilot CLI says it failed, and not why.');
  const code =
    error.errorType === 'authentication' ? 'ENGINE_NOT_LOGGED_IN' : kind(message, number(error.statusCode));
  return { type: 'end', ok: false, answer: '', error: message, code };
}

async function withoutResult(error: Fields, exit: Exit): Promise<EngineEnd[]> {
  if (text(error.message)) return [failure(error, false)];
  const [told] = await stderrEnd(exit);
  if (told?.error) return [{ ...told, code: kind(told.error, null) }];
  if (exit.exitCode !== 0) return []; // after a signal, or another exit code without a message, there is nothing to report
  const message = 'It ended without a result, though with exit code 0.';
  return [{ type: 'end', ok: false, answer: '', error: message, code: 'ENGINE_FAILED' }];
}

function kind(message: string, status: number | null) {
  if (/no authentication information/i.test(message)) return 'ENGINE_NOT_LOGGED_IN';
  if (/no session, task,? or name matched/i.test(message)) return 'CHAT_UNKNOWN';
  return failureKind(message, status ?? undefined);
}

const TOTALS: readonly UsageFigure[] = ['input', 'output', 'cached'];

/** Reads the usage file, which counts all models from the beginning of the chat. Input includes cached tokens. */
export function usageInFile(content: string | null): EngineEvent[] {
  const models = Object.values(fields(fieldsOf(content ?? '')?.modelMetrics)).map(model =>
    fields(fields(model).usage),
  );
  const total = (figure: string) => sum(...models.map(model => amount(model[figure])));
  const [input, output, cached] = [total('inputTokens'), total('outputTokens'), total('cacheReadTokens')];
  if (input === null && output === null) return [];
  return [
    {
      type: 'usage',
      usage: { input, output, cached, costUsd: null, costIsEstimated: false },
      runningTotals: TOTALS,
    },
  ];
}
