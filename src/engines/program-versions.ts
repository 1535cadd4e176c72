import { mkdirSync, readFileSync, renameSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { runProgram } from '../process/programs/run-program.ts';
import { versionIn } from './version.ts';

export interface ProgramVersions {
  /**
   * Version that `--version` prints, or null if it prints none in time. Each program file is asked once, or again after
   * a while if it did not answer.
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

/** How long a run waits for a version. On a busy machine the answer comes later, and counts for the next run. */
const WAIT_MS = 8_000;
const GIVE_UP_MS = 60_000;

/**
 * Caches versions in a file, by the program's path, modification time and size, because some programs take seconds to
 * answer.
 */
export function createProgramVersions(
  cacheFile: string,
  { waitMs = WAIT_MS, giveUpMs = GIVE_UP_MS } = {},
): ProgramVersions {
  let known: Known | null = null;
  const asking = new Map<string, { version: Promise<string | null>; isLate: boolean }>();
  const silentUntil = new Map<string, number>();

  async function learn(
    program: string,
    { mtimeMs, size }: Stats,
    env: Record<string, string>,
  ): Promise<string | null> {
    const version = await ask(program, env, giveUpMs);
    if (version !== null) {
      known = { ...known, [program]: { mtimeMs, size, version } };
      writeCache(cacheFile, known);
    }
    return version;
  }

  return {
    async of(program, env) {
      const file = statSync(program);
      known ??= readCache(cacheFile);
      const before = known[program];
      if (before?.mtimeMs === file.mtimeMs && before.size === file.size) return before.version;
      const key = JSON.stringify([program, file.mtimeMs, file.size]);
      if (performance.now() < (silentUntil.get(key) ?? 0)) return null;
      let asked = asking.get(key);
      if (!asked) {
        asked = { version: learn(program, file, env), isLate: false };
        asking.set(key, asked);
        void asked.version.then(version => {
          asking.delete(key);
          if (version === null) silentUntil.set(key, performance.now() + ASK_AGAIN_AFTER_MS);
        });
      }
      if (asked.isLate) return null;
      const version = await Promise.race([asked.version, delay(waitMs, undefined, { ref: false })]);
      if (version === undefined) asked.isLate = true;
      return version ?? null;
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
