/** Recorded output of the real CLIs with the scripted model server, and a function that reads it with a reader. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { EngineEnd, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import type { CliId } from '../../schema/engine-spec.ts';
import { cliProfile, cliProfiles } from '../cli-profiles.ts';

export interface Recorded {
  code: number | null;
  signal: string | null;
  /** Usage that the model server counted. */
  input: number;
  output: number;
  cached: number;
  stderr: string;
}

export const ROOT = resolve(import.meta.dirname, '../../../test/fixtures/transcripts');
export const RECORDED = cliProfiles()
  .map(({ id }) => id)
  .filter(id => existsSync(join(ROOT, id, 'index.json')));

export const casesOf = (cli: CliId): Record<string, Recorded> =>
  JSON.parse(readFileSync(join(ROOT, cli, 'index.json'), 'utf8')).cases;

export async function read(cli: CliId, name: string, { code, stderr }: Recorded): Promise<EngineEvent[]> {
  const beside = (file: string) => join(ROOT, cli, `${name}.${basename(file)}`);
  return readLines(cliProfile(cli).reader(), linesOf(cli, name), code ?? 143, stderr, beside);
}

export async function readLines(
  reader: EngineReader,
  lines: string[],
  exitCode: number,
  stderr: string,
  beside?: (file: string) => string,
): Promise<EngineEvent[]> {
  const events = lines.flatMap(line => reader.line(line));
  const file = async (name: string) => {
    if (name === 'stderr') return stderr;
    const path = beside?.(name);
    return path && existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  return [...events, ...((await reader.finish?.({ exitCode, file })) ?? [])];
}

export const linesOf = (cli: string, name: string): string[] =>
  readFileSync(join(ROOT, cli, `${name}.jsonl`), 'utf8')
    .split('\n')
    .filter(Boolean);

export const endIn = (events: EngineEvent[]): EngineEnd | undefined =>
  events.findLast(event => event.type === 'end');
