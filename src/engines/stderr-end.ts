import type { EngineEnd, EngineReader } from '../core/ports/engine.ts';
import { stderrExcerpt } from '../process/turns/stderr-excerpt.ts';
import { failureKind } from './failure-kind.ts';

const MAX_LINES = 6;
const MAX_LINE_LENGTH = 300;

/** End event of a turn that failed before its first event, because of a bad flag, a missing key or an unknown chat. */
export async function stderrEnd(
  exit: Parameters<NonNullable<EngineReader['finish']>>[0],
): Promise<EngineEnd[]> {
  // Only an event of the engine can report success, and a signal needs no explanation.
  if (exit.exitCode === null || exit.exitCode === 0 || exit.exitCode > 128) return [];
  const stderr = (await exit.file('stderr')) ?? '';
  const message = stderrExcerpt(stderr, MAX_LINES).map(shortened).join('\n');
  return message ? [{ type: 'end', ok: false, answer: '', error: message, code: failureKind(message) }] : [];
}

const shortened = (line: string): string =>
  line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH).toWellFormed()}…` : line;
