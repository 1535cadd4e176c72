import type { EngineEnd, EngineReader } from '../core/ports.ts';
import { failureKind } from './failure-kind.ts';

const MOST_LINES = 12;
const MOST_CHARACTERS = 2_000;

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
    .slice(-20_000)
    .replace(ESCAPES, '')
    .split('\n')
    .map(line => line.trimEnd());
  return lines
    .filter(line => line !== '')
    .slice(-MOST_LINES)
    .join('\n')
    .slice(-MOST_CHARACTERS)
    .toWellFormed();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what is to be removed
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;
