import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { hubName } from '../core/hub/cluster-problems.ts';
import { withStoredAnswers } from '../core/output/stored-answers.ts';
import { keepRecords, recordedRuns } from '../core/runs/run-record.ts';
import { SettingsInForce } from '../core/settings/hub-settings.ts';
import { Log } from '../hub/log.ts';
import { acquireHubLock, forgetHub, recordHub } from '../hub/startup.ts';
import { databaseUrl } from '../link/database-url.ts';
import { ownFolder, socketPath } from '../link/home.ts';
import { homeId } from '../link/home-id.ts';
import { isBound, lockPath, otherHub } from '../link/hub-record.ts';
import { replaceFile } from '../link/replace-file.ts';
import { hubEnvironment } from '../link/start-hub.ts';
import { createRunFiles } from '../process/output/run-files.ts';
import { createRunOfProcess, type RunOfProcess } from '../process/table/run-of-process.ts';
import type { EventBody } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import { describeRestored } from '../schema/run-text.ts';
import { CommitMark } from '../store/commit-mark.ts';
import { openCheckedStore } from '../store/open.ts';
import { nameOfDatabase } from '../store/postgres/url.ts';
import { takeLock } from '../store/sqlite/lock.ts';
import { HubLease } from './hub-lease.ts';

export interface HubOptions {
  home: string;
  /**
   * Environment of the hub. If an agent's command starts the hub, the environment of the user's last hub is used
   * instead.
   */
  env: Record<string, string | undefined>;
  version: string;
  /** The folder of the bundled programs. */
  programs: string;
  /** Warnings about the start, for `squad hub status`. */
  warnings?: string[];
  /** Process that started this hub (default: the parent process). */
  startedBy?: number;
  /** Called between two steps that must both happen, in git and in the database. Tests end the hub there. */
  checkpoint?(name: string): void;
}

export type HubHome = NonNullable<Awaited<ReturnType<typeof openHome>>>;

/**
 * Phase 1: takes the lock of a home, then opens its files and its database. Null when another hub already has this
 * home.
 */
export async function openHome(options: HubOptions) {
  const { home, env, version, programs, startedBy = process.ppid, checkpoint = () => {} } = options;
  ownFolder(home);
  const socket = socketPath(home);
  // A running hub counts even if its lock file was removed, because that hub restores the file.
  const takeFreeLock = () => (otherHub(home) === null && !isBound(socket) ? takeLock(lockPath(home)) : null);
  const taken = await acquireHubLock(takeFreeLock, socket);
  if (!taken) return null;
  let lock = taken;
  const runsDir = join(home, 'runs');
  const runOfProcess = createRunOfProcess(runsDir);
  await takeStartEnvironment({ home, env, startedBy, runOfProcess });
  const log = new Log(join(home, 'hub.log'), env.MCP_LOG_LEVEL, env.SQUAD_LOG_FORMAT);
  const warn = (message: string, cause?: unknown) => log.write('warning', message, cause);
  const clock = { now: () => Date.now(), monotonic: () => performance.now() };
  const startedAt = clock.now();
  const writeRecord = () => {
    recordHub(home, { pid: process.pid, version, startedAt });
    return true;
  };
  writeRecord();
  const url = databaseUrl(home, env);
  const file = env.MCP_DATABASE_PATH || join(home, 'squad.db');
  const database = url === null ? file : nameOfDatabase(url);
  const ownFiles = createRunFiles<RunId>({ runsDir, chatsDir: join(home, 'chats') });
  const damaged = Promise.withResolvers<void>();
  const opened = await openCheckedStore({
    ...{ database: url ?? file, version },
    ...(url !== null && { home: { id: homeId(home), home } }),
    mark: new CommitMark(join(runsDir, '.database.json')),
    source: recordedRuns(ownFiles),
    onRestore: why => warn(`${why}; restoring runs from their folders`),
    onDamage: () => damaged.resolve(),
  });
  const store = keepRecords(opened.store, ownFiles, warn);
  const files = url === null ? ownFiles : withStoredAnswers(ownFiles, store, warn);
  const settings = new SettingsInForce(store);
  await settings.load();
  const restored = opened.restored && describeRestored(opened.restored);
  const lease = store.hubLeases && new HubLease({ leases: store.hubLeases, runsDir, warn });
  await lease?.start();
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
    /** Null if no other hub can use the database. */
    lease,
    /** Name of this hub among those of its database. Null if it has the database alone. */
    hub: url === null ? null : hubName({ host: hostname(), home }),
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
      lease?.close();
      await store.close();
      forgetHub(home);
      lock.release();
    },
  };
}

const ENVIRONMENT_FILE = 'hub-environment.json';
const SavedEnvironment = z.record(z.string(), z.string());

interface Start {
  home: string;
  env: Record<string, string | undefined>;
  startedBy: number;
  runOfProcess: RunOfProcess;
}

/**
 * Gives this hub the environment of the last hub that the user started, if a run's command has started this one.
 * Otherwise an agent would choose the database, the port and the PATH of the user's hub. The environment of each hub
 * that the user starts is saved for this purpose.
 */
async function takeStartEnvironment({ home, env, startedBy, runOfProcess }: Start): Promise<void> {
  const file = join(home, ENVIRONMENT_FILE);
  const saved = savedIn(file);
  const run = await runOfProcess(startedBy);
  // A starter that has already ended, such as a command with a timeout, may have been a process of an agent.
  if (run === null && process.ppid === startedBy) {
    const own = JSON.stringify(hubEnvironment(env));
    if (JSON.stringify(saved) !== own) save(file, own);
    return;
  }
  if (!saved) return;
  for (const name of Object.keys(env)) delete env[name];
  Object.assign(env, hubEnvironment(saved), { SQUAD_HOME: home });
}

function save(file: string, text: string): void {
  try {
    replaceFile(file, text, 0o600);
  } catch {
    // On a full disk the previous file stays. Starting the hub is more important than saving its environment.
  }
}

/** Null when the environment file is missing or unusable. */
function savedIn(file: string): Record<string, string> | null {
  try {
    return SavedEnvironment.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}
