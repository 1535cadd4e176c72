import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import type { RunSource } from '../core/ports/run-files.ts';
import { SquadError } from '../schema/error.ts';
import type { Mark } from './commit-mark.ts';
import { migrate } from './migrations.ts';
import { type Restored, restoreRuns } from './restore-runs.ts';
import { sqliteFailure } from './sqlite/failure.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { salvage } from './sqlite/salvage.ts';

const PARTS = ['', '-wal', '-shm', '-journal'];

interface Damage {
  why: string;
  version: string;
  mark: Mark | null;
}

/**
 * Builds a new database from the readable parts of the damaged one and the run folders, and replaces the damaged one, which is
 * renamed. If the process is killed at any point, the next start begins again or finishes the swap.
 */
export async function rebuild(path: string, source: RunSource, damage: Damage): Promise<Restored | null> {
  const building = `${path}.building`;
  const at = Math.floor(Date.now() / 1000);
  try {
    const restored = await build(path, building, source, damage, keptName(path, at));
    utimesSync(building, at, at);
    syncFile(building);
    renameSync(building, rebuiltName(path));
    finishSwap(path);
    return restored;
  } catch (thrown) {
    removeParts(building);
    throw cannotRebuild(path, damage.why, thrown);
  }
}

async function build(
  path: string,
  building: string,
  source: RunSource,
  { why, version, mark }: Damage,
  kept: string,
): Promise<Restored | null> {
  removeParts(building);
  const empty = openSqlite(building);
  await migrate(empty, building, version).finally(() => empty.close());
  // SQLite would treat an empty file as a new database and delete its -wal file.
  if (statSync(path, { throwIfNoEntry: false })?.size) salvage(path, building);
  const backend = openSqlite(building);
  try {
    const isBehind = mark !== null && backend.lastSequence() < mark.seq;
    return await restoreRuns(backend, source, { mark, isBehind, since: 0, why, kept });
  } finally {
    await backend.close();
  }
}

/** Replaces the database by the rebuilt one, whichever of these steps were done before a kill. */
export function finishSwap(path: string): void {
  const rebuilt = rebuiltName(path);
  const at = statSync(rebuilt, { throwIfNoEntry: false })?.mtimeMs;
  if (at === undefined) return;
  const kept = keptName(path, Math.round(at / 1000));
  for (const part of PARTS) if (existsSync(path + part)) renameSync(path + part, kept + part);
  renameSync(rebuilt, path);
}

const rebuiltName = (path: string): string => `${path}.rebuilt`;

const keptName = (path: string, seconds: number): string =>
  `${path}.damaged-${new Date(seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, '')}`;

function syncFile(file: string): void {
  const fd = openSync(file, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

function removeParts(file: string): void {
  for (const part of PARTS) rmSync(file + part, { force: true });
}

function cannotRebuild(path: string, why: string, thrown: unknown): SquadError {
  const { error } = sqliteFailure(thrown, path);
  return new SquadError(
    error.code,
    `${why}, and it cannot be rebuilt from the run folders: ${error.message} Nothing was deleted.`,
    { cause: thrown, suggestions: error.suggestions },
  );
}
