import type { EngineEnd, EngineReader } from '../core/ports/engine.ts';
import { failureKind } from './failure-kind.ts';

const MOST_LINES = 6;
const LONGEST_LINE = 300;

/** The end of a turn that failed before it could say so in events: a bad flag, a missing key, a chat that is not there. */
export async function stderrEnd(
  exit: Parameters<NonNullable<EngineReader['finish']>>[0],
): Promise<EngineEnd[]> {
  // Success needs the engine's own word, and a signal speaks for itself.
  if (exit.exitCode === null || exit.exitCode === 0 || exit.exitCode > 128) return [];
  const words = lastWords((await exit.file('stderr')) ?? '');
  return words ? [{ type: 'end', ok: false, answer: '', error: words, code: failureKind(words) }] : [];
}

function lastWords(stderr: string): string {
  const lines = stderr
    .slice(-100_000)
    .replace(ESCAPES, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  const said = lines.filter(line => !LOGGED.test(line));
  return (said.length > 0 ? said : lines).slice(-MOST_LINES).map(shortened).join('\n');
}

const shortened = (line: string): string =>
  line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE).toWellFormed()}…` : line;

/** A line of a log comes before the words that are meant for the user. */
const LOGGED = /^\d{4}-\d\d-\d\dT\S+\s+(?:ERROR|WARN|INFO|DEBUG)\b/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is to be removed
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;
