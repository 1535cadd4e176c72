import { existsSync } from 'node:fs';
import { runProgram } from '../process/programs/run-program.ts';

const LOADER_CACHE = '/etc/ld.so.cache';
const LIMIT_MS = 10_000;

/** The files a program is loaded with, named as its loader finds them. Null where the loader does not tell (musl). */
export async function sharedLibraries(program: string): Promise<string[] | null> {
  // Asked this way the loader lists what it would load, and the program itself never runs.
  const { code, stdout } = await runProgram({
    argv: [program, '--version'],
    cwd: '/',
    env: { LD_TRACE_LOADED_OBJECTS: '1' },
    limitMs: LIMIT_MS,
    maxBytes: 1024 * 1024,
  });
  const files = [...stdout.toString('utf8').matchAll(/^\t(?:.* => )?(\/.*) \(0x[0-9a-f]+\)$/gm)].map(
    ([, file]) => file!,
  );
  if (code !== 0 || files.length === 0) return null;
  return existsSync(LOADER_CACHE) ? [...files, LOADER_CACHE] : files;
}
