import { join } from 'node:path';
import { recordedRuns } from '../core/runs/recorded-runs.ts';
import { keepRecords } from '../core/runs/run-record.ts';
import { Log } from '../hub/log.ts';
import { SettingsInForce } from '../hub/settings.ts';
import { acquireHubLock, forgetHub, recordHub } from '../hub/startup.ts';
import { ownFolder, socketPath } from '../link/home.ts';
import { isBound, lockPath, otherHub } from '../link/hub-record.ts';
import { createRunFiles } from '../process/output/run-files.ts';
import { createRunOfProcess } from '../process/table/run-of-process.ts';
import type { EventBody } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import { describeRestored } from '../schema/run-text.ts';
import { CommitMark } from '../store/commit-mark.ts';
import { openCheckedStore } from '../store/open.ts';
import { takeLock } from '../store/sqlite/lock.ts';
import { takeStartEnvironment } from './start-environment.ts';

export interface HubOptions {
  home: string;
  /** Replaced by the user's last one if an agent's command starts the hub. */
  env: Record<string, string | undefined>;
  version: string;
  /** The folder of the bundled programs. */
  programs: string;
  /** Warnings about the start, for `squad hub status`. */
  warnings?: string[];
  /** Process that started this one (default: the parent). */
  startedBy?: number;
  /** Called between two steps that belong together in git and the database, so that tests can end the hub there. */
  checkpoint?(name: string): void;
}

export type HubHome = NonNullable<Awaited<ReturnType<typeof openHome>>>;

/** Phase 1: takes the lock of a home and opens its files and its database. Null when another hub already has this home. */
export async function openHome(options: HubOptions) {
  const { home, env, version, programs, startedBy = process.ppid, checkpoint = () => {} } = options;
  ownFolder(home);
  const socket = socketPath(home);
  // Another hub counts even if its lock file was removed: it restores that file.
  const takeFreeLock = () => (otherHub(home) === null && !isBound(socket) ? takeLock(lockPath(home)) : null);
  const taken = await acquireHubLock(takeFreeLock, socket);
  if (!taken) return null;
  let lock = taken;
  const runsDir = join(home, 'runs');
  const runOfProcess = createRunOfProcess(runsDir);
  await takeStartEnvironment({ home, env, startedBy, runOfProcess });
  const log = new Log(join(home, 'hub.log'), env.MCP_LOG_LEVEL);
  const warn = (message: string, cause?: unknown) => log.write('warning', message, cause);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const startedAt = clock.now();
  const writeRecord = () => {
    recordHub(home, { pid: process.pid, version, startedAt });
    return true;
  };
  writeRecord();
  const database = env.MCP_DATABASE_PATH || join(home, 'squad.db');
  const files = createRunFiles<RunId>({ runsDir, chatsDir: join(home, 'chats') });
  const damaged = Promise.withResolvers<void>();
  const opened = await openCheckedStore({
    ...{ file: database, version },
    mark: new CommitMark(join(runsDir, '.database.json')),
    source: recordedRuns(files),
    onRestore: why => warn(`${why}; restoring runs from their folders`),
    onDamage: () => damaged.resolve(),
  });
  const store = keepRecords(opened.store, files, warn);
  const settings = new SettingsInForce(store);
  await settings.load();
  const restored = opened.restored && describeRestored(opened.restored);
  return {
    ...{
      home,
      env,
      version,
      programs,
      checkpoint,
      socket,
      runsDir,
      runOfProcess,
      log,
      warn,
      clock,
      startedAt,
    },
    ...{ database, files, store, settings, restored },
    /** Resolved when a query finds that the database is damaged. */
    damaged: damaged.promise,
    warnings: [...(options.warnings ?? []), ...(restored === null ? [] : [restored])],
    writeRecord,
    /** Locks the home again after its lock file was removed. False when another hub was faster. */
    lockAgain(): boolean {
      const again = takeLock(lockPath(home));
      if (again) lock = again;
      return again !== null;
    },
    record: (body: EventBody) =>
      store.commit({ events: [{ at: clock.now(), runId: null, squadId: null, body }] }),
    async close(): Promise<void> {
      await store.close();
      forgetHub(home);
      lock.release();
    },
  };
}
