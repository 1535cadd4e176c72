import {
  type EngineEvent,
  type EngineReader,
  type LimitReset,
  SQUAD_SERVER,
  type UsageFigure,
} from '../../core/ports/engine.ts';
import { cutOffNote } from '../cut-off.ts';
import { failureKind } from '../failure-kind.ts';
import { amount, type Fields, fields, fieldsOf, list, number, text } from '../json-line.ts';
import { epochMs, limitReset } from '../limit-reset.ts';
import { answerTooLong, longLineType } from '../long-line.ts';
import { stderrEnd } from '../stderr-end.ts';
import { ToolCalls, toolDetail } from '../tool-calls.ts';
import { RUN_SERVER } from './codex-command.ts';
import { PROMPT_REQUEST, THREAD_REQUEST } from './codex-driver.ts';

/**
 * Reads `codex exec --json`, and `codex app-server` with other names for the same events. `error` events are only
 * notices. `turn.failed` means failure, `turn.completed` success.
 */
export function codexReader(): EngineReader {
  const calls = new ToolCalls(describeItem);
  /** Text of the answer so far. Null if the answer was too long to read. */
  let answer: string | null = '';
  let ended = false;
  /** Id of the main chat. `codex app-server` also reports the chats of sub-agents. */
  let thread: string | null = null;
  /** Reset time of the usage limit that `codex app-server` last reported as used up. */
  let reset: LimitReset | null = null;

  function item(item: Fields, isOver: boolean): EngineEvent[] {
    const content = text(item.text) ?? text(item.message) ?? '';
    if (item.type === 'agent_message' && isOver) {
      answer = content;
      return content ? [{ type: 'text', text: content }] : [];
    }
    if (item.type === 'error' && isOver) return note(content);
    if (!isTool(item)) return [];
    // Some items have only one event, when they end.
    const begun = calls.begin(text(item.id), toolName(item), item);
    return isOver ? [...begun, ...calls.end(text(item.id), itemOk(item))] : begun;
  }

  const success = (): EngineEvent =>
    answer === null ? answerTooLong() : { type: 'end', ok: true, answer, error: null };

  function end(event: EngineEvent[]): EngineEvent[] {
    ended = true;
    return event;
  }

  /** A line of `codex app-server`. */
  function serverLine(line: Fields): EngineEvent[] {
    const params = fields(line.params);
    const { method } = line;
    if (line.id !== undefined) return method === undefined ? opened(line) : [];
    if (method === 'account/rateLimits/updated') reset = usedUp(fields(params.rateLimits)) ?? reset;
    if (params.threadId !== thread) return [];
    if (method === 'turn/started') answer = '';
    if (method === 'item/started') return item(renamed(fields(params.item)), false);
    if (method === 'item/completed') return item(renamed(fields(params.item)), true);
    if (method === 'thread/tokenUsage/updated')
      return usage(renamed(fields(fields(params.tokenUsage).total)));
    if (method === 'error') return noticed(errorText(fields(params.error)), params.willRetry === true);
    if (method === 'warning') return note(text(params.message) ?? '');
    return method === 'turn/completed' ? end([turnEnd(fields(params.turn))]) : [];
  }

  /** The id of the opened chat, or the error with which Codex could not open it or begin the turn. */
  function opened({ id, result, error }: Fields): EngineEvent[] {
    if (error !== undefined && [THREAD_REQUEST, PROMPT_REQUEST, 'init'].includes(text(id) ?? ''))
      return end([failure({ error }, reset)]);
    if (id !== THREAD_REQUEST) return [];
    const { thread: chat, model } = fields(result);
    thread = text(fields(chat).id);
    const name = text(model);
    return [
      ...(thread === null ? [] : [{ type: 'chat' as const, id: thread }]),
      ...(name === null ? [] : [{ type: 'model' as const, model: name }]),
    ];
  }

  function turnEnd(turn: Fields): EngineEvent {
    if (turn.status === 'completed') return success();
    if (turn.status === 'failed') return failure(turn, reset);
    return { type: 'end', ok: false, answer: '', error: 'The turn was interrupted.' };
  }

  return {
    line(line) {
      const event = fieldsOf(line);
      if (event && event.type === undefined) return serverLine(event);
      const chat = text(event?.thread_id);
      if (event?.type === 'thread.started') return chat ? [{ type: 'chat', id: chat }] : [];
      if (event?.type === 'item.started') return item(fields(event.item), false);
      if (event?.type === 'item.completed') return item(fields(event.item), true);
      if (event?.type === 'error') return noticed(text(event.message) ?? '');
      if (event?.type === 'turn.failed') return end([failure(event, reset)]);
      if (event?.type === 'turn.completed') return end([...usage(fields(event.usage)), success()]);
      return [];
    },
    tooLong(beginning) {
      const type = longLineType(beginning);
      if (beginning.startsWith('{"method":"turn/completed"')) return end([success()]);
      // The answer read so far stays valid only if the skipped item is certainly not a message.
      const item = /"type"\s*:\s*"(\w+)"/.exec(beginning.slice('{"type"'.length))?.[1];
      if (type !== null && (item === undefined || /^agent_?message$/i.test(item))) answer = null;
      return [];
    },
    finish: async exit => (ended ? [] : stderrEnd(exit)),
  };
}

const note = (content: string): EngineEvent[] => (content ? [{ type: 'note', text: content }] : []);

/** An error as `codex exec` prints it. */
const errorText = ({ message, additionalDetails }: Fields): string => {
  const details = text(additionalDetails);
  return `${text(message) ?? ''}${details ? ` (${details})` : ''}`;
};

/** Codex does not report how long it waits before it reconnects. */
const noticed = (content: string, isRetried = content.startsWith('Reconnecting')): EngineEvent[] => [
  ...(isRetried
    ? [{ type: 'note' as const, text: content, retry: { code: failureKind(content), waitMs: null } }]
    : note(content)),
  ...cutOffNote(content),
];

/** The later reset of the windows that are used up. */
function usedUp({ primary, secondary }: Fields): LimitReset | null {
  const resets = [fields(primary), fields(secondary)].flatMap(({ usedPercent, resetsAt }) =>
    (number(usedPercent) ?? 0) >= 100 ? (number(resetsAt) ?? []) : [],
  );
  return resets.length === 0 ? null : { at: epochMs(Math.max(...resets)) };
}

function failure(event: Fields, known: LimitReset | null): EngineEvent {
  const message = text(fields(event.error).message) ?? 'The turn failed; Codex gave no reason.';
  // Codex passes some API errors on as raw JSON.
  const content = text(fields(fieldsOf(message)?.error).message) ?? message;
  const isLimit = fields(event.error).codexErrorInfo === 'usageLimitExceeded';
  const code = isLimit ? 'ENGINE_RATE_LIMITED' : failureKind(message);
  const reset = code === 'ENGINE_RATE_LIMITED' ? (known ?? limitReset(message)) : null;
  return { type: 'end', ok: false, answer: '', error: content, code, ...(reset && { reset }) };
}

/**
 * Codex counts these figures from the beginning of the chat. Input includes cached tokens, output includes reasoning.
 */
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

/** Names of `codex app-server` as `codex exec` spells them: `exitCode` is `exit_code`, `agentMessage` a type. */
function renamed(item: Fields): Fields {
  const snake = (name: string) => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
  const entries = Object.entries(item).map(([name, value]) => [snake(name), value]);
  return {
    ...Object.fromEntries(entries),
    ...(item.type !== undefined && { type: snake(text(item.type) ?? '') }),
  };
}

const TOOLS = new Set(['command_execution', 'file_change', 'mcp_tool_call', 'web_search']);

export const isTool = (item: Fields): boolean => TOOLS.has(text(item.type) ?? '');

/** Name of a tool: server and tool for MCP tools, Codex's own name for others. */
export function toolName(item: Fields): string {
  if (item.type !== 'mcp_tool_call') return text(item.type) ?? '';
  const server = text(item.server) ?? '';
  return `mcp__${server === RUN_SERVER ? SQUAD_SERVER : server}__${text(item.tool) ?? ''}`;
}

export function describeItem(name: string, item: Fields): { detail: string; edits: boolean } {
  const files = list(item.changes).flatMap(change => text(change.path) ?? []);
  const own = text(item.command) ?? text(item.query) ?? files.join(', ');
  return { detail: own || toolDetail(fields(item.arguments)), edits: name === 'file_change' };
}

export function itemOk(item: Fields): boolean {
  const exitCode = number(item.exit_code);
  const failed =
    item.status === 'failed' || item.status === 'declined' || text(fields(item.error).message) !== null;
  return !failed && (exitCode === null || exitCode === 0);
}
