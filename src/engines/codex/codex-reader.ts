import type { EngineEvent, EngineReader, UsageFigure } from '../../core/ports/engine.ts';
import { cutOffNote } from '../cut-off.ts';
import { failureKind } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, text } from '../json-line.ts';
import { answerTooLong, longLineType } from '../long-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls } from '../tool-calls.ts';
import { describeItem, isTool, itemOk, toolName } from './codex-item.ts';

/** Reads `codex exec --json`. `error` events are notices: only `turn.failed` is a failure, only `turn.completed` success. */
export function codexReader(): EngineReader {
  const calls = new ToolCalls(describeItem);
  /** Null: it was too long to be read. */
  let answer: string | null = '';
  let ended = false;

  function item(item: Fields, isOver: boolean): EngineEvent[] {
    const words = text(item.text) ?? text(item.message) ?? '';
    if (item.type === 'agent_message' && isOver) {
      answer = words;
      return words ? [{ type: 'text', text: words }] : [];
    }
    if (item.type === 'error' && isOver) return note(words);
    if (!isTool(item)) return [];
    // Some items come only once, when they are over.
    const begun = calls.begin(text(item.id), toolName(item), item);
    return isOver ? [...begun, ...calls.end(text(item.id), itemOk(item))] : begun;
  }

  const success = (): EngineEvent =>
    answer === null ? answerTooLong() : { type: 'end', ok: true, answer, error: null };

  function end(event: EngineEvent[]): EngineEvent[] {
    ended = true;
    return event;
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      const chat = text(event?.thread_id);
      if (event?.type === 'thread.started') return chat ? [{ type: 'chat', id: chat }] : [];
      if (event?.type === 'item.started') return item(fields(event.item), false);
      if (event?.type === 'item.completed') return item(fields(event.item), true);
      if (event?.type === 'error') return noticed(text(event.message) ?? '');
      if (event?.type === 'turn.failed') return end([failure(event)]);
      if (event?.type === 'turn.completed') return end([...usage(fields(event.usage)), success()]);
      return [];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      // Only an item that is surely something else leaves the answer as it is.
      const item = /"type"\s*:\s*"(\w+)"/.exec(beginning.slice('{"type"'.length))?.[1];
      if (type !== null && (item === undefined || item === 'agent_message')) answer = null;
      return [];
    },
    finish: async exit => (ended ? [] : stderrEnd(exit)),
  };
}

const note = (words: string): EngineEvent[] => (words ? [{ type: 'note', text: words }] : []);

/** Codex does not say how long it waits before it reconnects. */
const noticed = (words: string): EngineEvent[] => [
  ...(words.startsWith('Reconnecting')
    ? [{ type: 'note' as const, text: words, retry: { code: failureKind(words), waitMs: null } }]
    : note(words)),
  ...cutOffNote(words),
];

function failure(event: Fields): EngineEvent {
  const message = text(fields(event.error).message) ?? 'The turn failed; Codex gave no reason.';
  // Some of the API's answers are passed on as they came.
  const words = text(fields(fieldsOf(message)?.error).message) ?? message;
  return { type: 'end', ok: false, answer: '', error: words, code: failureKind(message) };
}

/** Codex counts from the beginning of the chat. Its input holds the cached part, its output the reasoning. */
const FROM_THE_BEGINNING: UsageFigure[] = ['input', 'output', 'cached'];

function usage(given: Fields): EngineEvent[] {
  const input = amount(given.input_tokens);
  if (input === null) return [];
  const output = amount(given.output_tokens);
  const cached = amount(given.cached_input_tokens);
  return [
    {
      type: 'usage',
      usage: { input, output, cached, costUsd: null, costIsEstimated: false },
      runningTotals: FROM_THE_BEGINNING,
    },
  ];
}
