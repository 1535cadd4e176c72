import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { COMPILE_CACHE, HUB_CODE } from './compile-cache.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Whatever the bundles are made of. Packages have their versions in the lock file. */
const SOURCES = ['src', 'web', 'scripts/build.ts', 'package.json', 'package-lock.json', 'vite.config.ts'];
const BUILT = ['dist/hub-main.cjs', 'dist/help.txt', 'dist/web', 'dist/web-saved', 'dist/code-guest.cjs'];
/** As old as the sources of the last build that went well. */
const STAMP = join(ROOT, 'node_modules', '.cache', 'squad-built');
/** As `scripts/build.ts` says it. */
const WEB_FAILED = 3;

/** End-to-end tests run what ships: the bundles, as `npm run build` makes them. Without its page, only tests of that fail. */
export function setup(): (() => Promise<void>) | undefined {
  ensureBuilt();
  if (changedAt(HUB_CODE) < changedAt(join(ROOT, 'dist', 'hub-main.cjs'))) return compileHub();
}

export function ensureBuilt(): void {
  if (isBuilt()) return;
  const began = new Date();
  const { status } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'build.ts')], { stdio: 'inherit' });
  if (status !== 0 && status !== WEB_FAILED) throw new Error('The programs could not be built');
  if (status === 0) stamp(began);
}

/** Whether `dist` is made from the current source. */
export const isBuilt = (): boolean =>
  BUILT.every(name => existsSync(join(ROOT, name))) &&
  SOURCES.every(name => lastChange(join(ROOT, name)) < changedAt(STAMP));

function stamp(began: Date): void {
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, '');
  utimesSync(STAMP, began, began);
}

/** A folder changes when a file in it comes or goes. */
const lastChange = (path: string): number =>
  Math.max(
    changedAt(path),
    ...(statSync(path).isDirectory() ? readdirSync(path).map(name => lastChange(join(path, name))) : []),
  );

const changedAt = (path: string): number => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** A hub that keeps its compiled code for the hubs of tests; nothing waits for it. Returns what ends it. */
function compileHub(): () => Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'squad-compile-'));
  mkdirSync(COMPILE_CACHE, { recursive: true });
  symlinkSync(COMPILE_CACHE, join(home, 'cache'));
  const squad = (...args: string[]): ChildProcess =>
    spawn(process.execPath, [join(ROOT, 'bin', 'squad.cjs'), ...args], {
      env: { HOME: home, PATH: dirname(process.execPath), SQUAD_HOME: home, SQUAD_HUB_LINGER_MS: '5000' },
      stdio: 'ignore',
    });
  const started = squad('hub', 'start');
  return async () => {
    await ended(started);
    await ended(squad('hub', 'stop'));
    rmSync(home, { recursive: true });
  };
}

const ended = (child: ChildProcess): Promise<unknown> =>
  child.exitCode === null ? new Promise(settle => child.once('exit', settle)) : Promise.resolve();
