import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { Usage } from '../../schema/run.ts';

const FOLDER = join(import.meta.dirname, '../../../test/fixtures/transcripts');

interface Recorded {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Usage that the model's API reported. */
  input: number;
  output: number;
  cached: number;
  stderr: string;
}

export interface ReadTurn {
  events: EngineEvent[];
  end: EngineEnd | undefined;
  usage: Usage | undefined;
}

/** Recorded output lines of a turn of the real CLI. */
export const linesOf = (cli: string, name: string): string[] =>
  readFileSync(join(FOLDER, cli, `${name}.jsonl`), 'utf8').split('\n');

export function recordOf(cli: string, name: string): Recorded {
  const index = JSON.parse(readFileSync(join(FOLDER, cli, 'index.json'), 'utf8')) as {
    cases: Record<string, Recorded>;
  };
  const found = index.cases[name];
  if (!found) throw new Error(`${cli} has no recorded case ${name}`);
  return found;
}

/** Reads a recorded turn with a reader, including its exit code and stderr. */
export function readTranscript(
  reader: EngineReader,
  cli: string,
  name: string,
  files: Record<string, string> = {},
): Promise<ReadTurn> {
  const { code, signal, stderr } = recordOf(cli, name);
  const exitCode = code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
  return readTurn(reader, linesOf(cli, name), exitCode, { stderr, ...files });
}

export async function readTurn(
  reader: EngineReader,
  lines: string[],
  exitCode: number | null,
  files: Record<string, string> = {},
): Promise<ReadTurn> {
  const events = lines.flatMap(line => reader.line(line));
  events.push(...((await reader.finish?.({ exitCode, file: async name => files[name] ?? null })) ?? []));
  return {
    events,
    end: events.findLast(event => event.type === 'end'),
    usage: events.findLast(event => event.type === 'usage')?.usage,
  };
}

/** Returns a recorded file that the CLI wrote in addition to its output. Empty if there is none. */
export function sideFile(cli: string, name: string): string {
  const path = join(FOLDER, cli, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
