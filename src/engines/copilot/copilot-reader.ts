import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { failureKind } from '../failure-kind.ts';
import { type Fields, fields, fieldsOf, number, text } from '../json-line.ts';
import { answerTooLong, longLineType } from '../long-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls } from '../tool-calls.ts';
import { toolDetail } from '../tool-detail.ts';
import { USAGE_FILE } from './copilot-command.ts';
import { EDITING } from './copilot-tools.ts';
import { usageInFile } from './copilot-usage.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/** Reads `--output-format json`. A killed one prints a normal-looking `result`: only `assistant.idle` tells that it was aborted. */
export function copilotReader(): EngineReader {
  const calls = new ToolCalls((name, input) => ({
    detail: toolDetail(input),
    edits: EDITING.includes(name),
  }));
  /** Null: it was too long to be read. */
  let answer: string | null = '';
  let model: string | null = null;
  let aborted = false;
  let error: Fields = {};
  let ended = false;

  function said(data: Fields): EngineEvent[] {
    const words = (text(data.content) ?? '').trim();
    // What a sub-agent says is not this agent's answer.
    if (!words || text(data.parentToolCallId) !== null) return [];
    error = {};
    if (NO_ANSWER.test(words)) {
      error = { message: words };
      return [{ type: 'note', text: words }];
    }
    answer = words;
    return [{ type: 'text', text: words }];
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
          error = { message: failureWords(data), statusCode: data.statusCode };
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

/** Its own words in the place of an answer that its provider held back. Its result says success even so. */
const NO_ANSWER = /^The model returned no content because /;

function failureWords({ errorMessage }: Fields): string {
  const said = text(errorMessage) ?? 'no words';
  return `The model's API failed: ${text(fieldsOf(said)?.message) ?? said}`;
}

/** It does not say whether and when it asks again; its next event does. */
function callFailed(data: Fields): EngineEvent {
  const words = failureWords(data);
  const status = number(data.statusCode);
  return {
    type: 'note',
    text: status === null ? words : `${words} (${status})`,
    retry: { code: kind(words, status), waitMs: null },
  };
}

function toolEnded(data: Fields, calls: ToolCalls): EngineEvent[] {
  if (fields(data.error).code === 'denied') calls.deny(text(data.toolCallId));
  // A command that failed is a call that worked, to it.
  const exitCode = number(fields(data.shellExecution).exitCode) ?? 0;
  return calls.end(text(data.toolCallId), data.success === true && exitCode === 0);
}

function failure(error: Fields, aborted: boolean): EngineEnd {
  const said = text(error.message);
  const words =
    said ?? (aborted ? 'It was interrupted before it was done.' : 'Copilot CLI says it failed, and not why.');
  const code =
    error.errorType === 'authentication' ? 'ENGINE_NOT_LOGGED_IN' : kind(words, number(error.statusCode));
  return { type: 'end', ok: false, answer: '', error: words, code };
}

async function withoutResult(error: Fields, exit: Exit): Promise<EngineEnd[]> {
  if (text(error.message)) return [failure(error, false)];
  const [told] = await stderrEnd(exit);
  if (told?.error) return [{ ...told, code: kind(told.error, null) }];
  if (exit.exitCode !== 0) return []; // a signal, or an exit code without a word: both speak for themselves
  const words = 'It ended without a result, though with exit code 0.';
  return [{ type: 'end', ok: false, answer: '', error: words, code: 'ENGINE_FAILED' }];
}

function kind(words: string, status: number | null) {
  if (/no authentication information/i.test(words)) return 'ENGINE_NOT_LOGGED_IN';
  if (/no session, task,? or name matched/i.test(words)) return 'CHAT_UNKNOWN';
  return failureKind(words, status ?? undefined);
}
