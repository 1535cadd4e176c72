import { join } from 'node:path';
import type { EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { readPage } from '../../process/output/output-page.ts';
import { failureKind } from '../failure-kind.ts';

type Exit = Parameters<NonNullable<EngineReader['finish']>>[0];

/** File in a turn's folder with the paths of opencode's log and database. */
export const DATA_PATH_FILE = 'opencode-data-path';

export const dataPath = (env: Record<string, string>): string =>
  join(env.XDG_DATA_HOME || join(env.HOME || '/', '.local', 'share'), 'opencode');

/** Limit for reading the log. All of a user's opencode processes write into the same file. */
const MAX_LOG_BYTES = 256 * 1024;

/** Reads the end of opencode's log. Empty if there is none: the log only supplements the events. */
export async function readLog(exit: Exit): Promise<string> {
  const folder = await exit.file(DATA_PATH_FILE);
  if (folder === null) return '';
  return readPage(join(folder, 'log', 'opencode.log'), -MAX_LOG_BYTES, MAX_LOG_BYTES, () => true).then(
    ({ text }) => text,
    () => '',
  );
}

/**
 * A note about the last request of the chat if it failed, because opencode repeats failed requests without an event.
 * Empty if the last request has not failed.
 */
export function failedRequest(log: string, chat: string): EngineEvent[] {
  const last = log
    .split('\n')
    .findLast(
      line =>
        fieldIn(line, 'session.id') === chat &&
        ['stream', 'stream error'].includes(fieldIn(line, 'message') ?? ''),
    );
  const said = last && fieldIn(last, 'error.error');
  if (!said) return [];
  const text = `The model's API failed: ${said.replace(/^\w*Error: /, '')}`;
  return [{ type: 'note', text, retry: { code: failureKind(said), waitMs: null } }];
}

/** Reads a field from `key=value` or `key="a value"`. */
function fieldIn(line: string, key: string): string | null {
  const found = new RegExp(`(?:^|\\s)${key.replace('.', '\\.')}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\S+))`).exec(
    line,
  );
  return found?.[1] ?? found?.[2] ?? null;
}
