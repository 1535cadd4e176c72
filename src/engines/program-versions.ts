import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { versionIn } from './version.ts';

export interface ProgramVersions {
  /** What `--version` says; null when it says nothing of the kind. Asked once for each file. */
  of(program: string, env: Record<string, string>): Promise<string | null>;
}

const PATIENCE_MS = 8_000;
const LONGEST_OUTPUT = 4_096;

interface Known {
  /** Of the file as it was when it was asked. */
  mtimeMs: number;
  size: number;
  version: string | null;
}

/** Remembers versions in a file, by path, time and size: asking some programs takes seconds. */
export function createProgramVersions(cacheFile: string): ProgramVersions {
  let known: Record<string, Known> | null = null;
  const asking = new Map<string, Promise<string | null>>();

  async function of(program: string, env: Record<string, string>): Promise<string | null> {
    known ??= readCache(cacheFile);
    const { mtimeMs, size } = statSync(program);
    const before = known[program];
    if (before && before.mtimeMs === mtimeMs && before.size === size) return before.version;
    const already = asking.get(program);
    if (already) return already;
    const answer = ask(program, env).then(version => {
      asking.delete(program);
      // One that gave no answer may have been slow only this once.
      if (version !== null) {
        known![program] = { mtimeMs, size, version };
        writeCache(cacheFile, known!);
      }
      return version;
    });
    asking.set(program, answer);
    return answer;
  }
  return { of };
}

/** Told to keep quiet: a question for the version must reach nobody outside. */
const QUIET = {
  CI: '1',
  NO_COLOR: '1',
  NO_UPDATE_NOTIFIER: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  COPILOT_OFFLINE: 'true',
};

function ask(program: string, { PATH, HOME, USER, LANG }: Record<string, string>): Promise<string | null> {
  return new Promise(resolve => {
    const env = Object.fromEntries(
      Object.entries({ PATH, HOME, USER, LANG, ...QUIET }).filter(([, value]) => value !== undefined),
    );
    const child = spawn(program, ['--version'], {
      env,
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    let output = '';
    const end = (version: string | null) => {
      clearTimeout(timer);
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL');
      } catch {} // it is gone, as it should be
      resolve(version);
    };
    const timer = setTimeout(() => end(null), PATIENCE_MS);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, LONGEST_OUTPUT);
    });
    child.once('error', () => end(null));
    child.once('close', () => end(versionIn(output)));
  });
}

function readCache(file: string): Record<string, Known> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, Known>) : {};
  } catch {
    return {}; // safe to lose: everything is asked again
  }
}

function writeCache(file: string, known: Record<string, Known>): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify(known), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {} // only asked again
}
