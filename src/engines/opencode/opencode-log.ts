import { join } from 'node:path';
import type { EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { readPage } from '../../process/output/output-page.ts';
import { failureKind } from '../failure-kind.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/** The file of a turn that says where opencode's log is. */
export const LOG_PATH_FILE = 'opencode-log-path';

export const logPath = (env: Record<string, string>): string =>
  join(env.XDG_DATA_HOME || join(env.HOME || '/', '.local', 'share'), 'opencode', 'log', 'opencode.log');

/** All of a user's opencode processes write into one log. */
const MAX_LOG_BYTES = 256 * 1024;

/** The end of the log; empty where there is none: it only adds to what the events say. */
export async function readLog(exit: Exit): Promise<string> {
  const path = await exit.file(LOG_PATH_FILE);
  if (path === null) return '';
  return readPage(path, -MAX_LOG_BYTES, MAX_LOG_BYTES, () => true).then(
    ({ text }) => text,
    () => '',
  );
}

/** A tool call that opencode has reported, which it does when the call is over. */
export interface EndedCall {
  permission: string;
  /** In milliseconds since 1970. */
  start: number;
  end: number;
}

/** The chat of a turn that printed nothing: by its arguments, which name the chat or give a title to a new one. */
export function chatInLog(log: string, argv: string | null): string | null {
  const given = /"--(session|title)","([^"]+)"/.exec(argv ?? '');
  if (!given) return null;
  const [, flag, value] = given;
  if (flag === 'session') return value!;
  const created = log
    .split('\n')
    .findLast(line => fieldIn(line, 'message') === 'created' && fieldIn(line, 'title') === value);
  return created === undefined ? null : fieldIn(created, 'id');
}

/** What the log says about the last request of a chat to its model, and the tool calls that came of it. */
export function sinceLastRequest(log: string, chat: string): string[] {
  const lines = log.split('\n');
  const isOwn = (line: string) => fieldIn(line, 'session.id') === chat;
  const at = lines.findLastIndex(line => isOwn(line) && fieldIn(line, 'message') === 'stream');
  if (at === -1) return [];
  const process = fieldIn(lines[at]!, 'run');
  const after = lines.slice(at).filter(line => fieldIn(line, 'run') === process);
  // A sub-agent's calls are not this agent's.
  const other = after.findIndex(line => fieldIn(line, 'message') === 'stream' && !isOwn(line));
  return other === -1 ? after : after.slice(0, other);
}

/**
 * The tool calls that had begun and were not reported as over. A command is checked part by part, so calls of the same tool in
 * one answer cannot be told apart: they count as one.
 */
export function runningCalls(lines: readonly string[], ended: readonly EndedCall[]): EngineEvent[] {
  const running = new Map<string, string[]>();
  for (const line of lines) {
    const permission = fieldIn(line, 'permission');
    const at = Date.parse(fieldIn(line, 'timestamp') ?? '');
    if (fieldIn(line, 'message') !== 'evaluated' || !permission || NO_TOOLS.includes(permission)) continue;
    if (ended.some(call => call.permission === permission && call.start <= at && at <= call.end)) continue;
    running.set(permission, [...(running.get(permission) ?? []), fieldIn(line, 'pattern') ?? '']);
  }
  return [...running].map(([name, patterns]) => ({
    type: 'tool',
    name,
    detail: patterns.join(' '),
    ...(name === 'edit' && { edits: true }),
  }));
}

/** Permissions that are asked for besides that of the tool itself. */
const NO_TOOLS = ['external_directory', 'doom_loop'];

/** opencode repeats a failed request without an event. */
export function failedRequest(lines: readonly string[]): EngineEvent[] {
  const failed = lines.findLast(line => fieldIn(line, 'message') === 'stream error');
  const said = failed && fieldIn(failed, 'error.error');
  if (!said) return [];
  const text = `The model's API failed: ${said.replace(/^\w*Error: /, '')}`;
  return [{ type: 'note', text, retry: { code: failureKind(said), waitMs: null } }];
}

/** `key=value` or `key="a value"`. */
function fieldIn(line: string, key: string): string | null {
  const found = new RegExp(`(?:^|\\s)${key.replace('.', '\\.')}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\S+))`).exec(
    line,
  );
  return found?.[1] ?? found?.[2] ?? null;
}
