import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { z } from 'zod';
import { runProgram } from '../process/programs/run-program.ts';
import { versionIn } from './version.ts';

export interface ProgramVersions {
  /**
   * Version that `--version` prints, or null if it prints none. Each program file is asked once, or again after a
   * while if it did not answer.
   */
  of(program: string, env: Record<string, string>): Promise<string | null>;
}

const Known = z.record(
  z.string(),
  /** Modification time and size of the program file when the version was read. */
  z.object({ mtimeMs: z.number(), size: z.number(), version: z.string() }),
);
type Known = z.infer<typeof Known>;

/** A program that did not answer may have been slow only once, but asking at every start would slow down all runs. */
const ASK_AGAIN_AFTER_MS = 5 * 60_000;

/**
 * Caches versions in a file, by the program's path, modification time and size, because some programs take seconds to
 * answer.
 */
export function createProgramVersions(cacheFile: string, limitMs = 8_000): ProgramVersions {
  let known: Known | null = null;
  const asking = new Map<string, Promise<string | null>>();
  const silent = new Map<string, { mtimeMs: number; size: number; until: number }>();

  async function learn(program: string, env: Record<string, string>): Promise<string | null> {
    const { mtimeMs, size } = statSync(program);
    known ??= readCache(cacheFile);
    const before = known[program];
    if (before?.mtimeMs === mtimeMs && before.size === size) return before.version;
    const mute = silent.get(program);
    if (mute?.mtimeMs === mtimeMs && mute.size === size && performance.now() < mute.until) return null;
    const version = await ask(program, env, limitMs);
    if (version === null) {
      silent.set(program, { mtimeMs, size, until: performance.now() + ASK_AGAIN_AFTER_MS });
    } else {
      known[program] = { mtimeMs, size, version };
      writeCache(cacheFile, known);
    }
    return version;
  }

  return {
    of(program, env) {
      const answer = asking.get(program) ?? learn(program, env).finally(() => asking.delete(program));
      asking.set(program, answer);
      return answer;
    },
  };
}

/** Prevents network traffic when asking for the version. */
const QUIET = {
  CI: '1',
  NO_COLOR: '1',
  NO_UPDATE_NOTIFIER: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  COPILOT_OFFLINE: 'true',
};

async function ask(
  program: string,
  { PATH, HOME, USER, LANG }: Record<string, string>,
  limitMs: number,
): Promise<string | null> {
  const { stdout } = await runProgram({
    argv: [program, '--version'],
    cwd: tmpdir(),
    env: Object.fromEntries(
      Object.entries({ PATH, HOME, USER, LANG, ...QUIET }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
    limitMs,
    maxBytes: 4_096,
  });
  return versionIn(stdout.toString('utf8'));
}

function readCache(file: string): Known {
  try {
    return Known.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {}; // the cache may be lost: versions are then read again
  }
}

function writeCache(file: string, known: Known): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(known), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {} // versions are read again next time
}
