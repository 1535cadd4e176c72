import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { LineSplitter } from '../../base/lines.ts';
import { killTree, type Leftover, sweep } from '../table/kill-tree.ts';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import type { ProcessTable } from '../table/process-table.ts';
import { createTurnTree, type TurnTree } from '../turns/turn-tree.ts';
import { findExecutable } from './find-executable.ts';
import type { ProgramStart } from './run-program.ts';

/** Time from TERM to KILL. */
export const TERM_MS = 3000;

/**
 * Finds the processes of a service the way those of a turn are found. The first process of a service leaves no exit
 * record, so it is treated like the others.
 */
export function createServiceTree(table: ProcessTable, service: string, leaderPid: number): TurnTree {
  const tree = createTurnTree(table, { service }, leaderPid);
  return {
    ...tree,
    async members() {
      const { wrapper, others } = await tree.members();
      return { wrapper: null, others: wrapper ? [wrapper, ...others] : others };
    },
  };
}

/** Ends processes of services whose hub has died. Returns processes that could not be ended, normally none. */
export async function sweepServices(
  table: ProcessTable,
  isOurs: (tag: string) => boolean,
): Promise<Leftover[]> {
  const tags = (await table.snapshot()).services().filter(isOurs);
  const killAt = performance.now() + TERM_MS;
  const survivors = await Promise.all(
    tags.map(tag => killTree(table, createServiceTree(table, tag, 0), () => killAt)),
  );
  return survivors.flat();
}

const MAX_LINE_BYTES = 1024 * 1024;
/** Bytes of output per second that are read as lines. Output beyond this limit is skipped. */
const MAX_PER_SECOND = 1024 * 1024;
/** Bytes that are kept from the end of the skipped output. */
const KEPT_END = 16 * 1024;

/**
 * Reads lines without ever blocking the writer. A flood costs neither memory nor much time: output beyond the limit
 * per second is skipped, except its end, which would contain the reason for a crash.
 */
export function readStderr(
  stream: Readable,
  onLine: (line: string) => void,
  clock = () => performance.now(),
): void {
  const lines = new LineSplitter({ maxBytes: MAX_LINE_BYTES }, { line: bytes => onLine(bytes.toString()) });
  let windowStart = clock();
  let taken = 0;
  let leftOut = 0;
  let end: Buffer | null = null;

  function catchUp(): void {
    if (!end) return;
    if (leftOut > 0) {
      // Drops the two partial lines around the skipped output, because redaction does not recognise half a secret.
      lines.skipLine();
      onLine(`[${leftOut} bytes left out]`);
    }
    lines.push(end);
    end = null;
    leftOut = 0;
  }

  stream.on('data', (chunk: Buffer) => {
    const now = clock();
    if (now - windowStart > 1000) {
      windowStart = now;
      taken = 0;
      catchUp();
    }
    taken += chunk.length;
    if (taken <= MAX_PER_SECOND) {
      lines.push(chunk);
      return;
    }
    const both = end && chunk.length < KEPT_END ? Buffer.concat([end, chunk]) : chunk;
    const kept = both.subarray(-KEPT_END);
    leftOut += (end?.length ?? 0) + chunk.length - kept.length;
    end = kept;
  });
  stream.on('end', () => {
    catchUp();
    lines.end();
  });
  stream.on('error', () => {});
}

interface ServiceStart extends ProgramStart {
  table: ProcessTable;
  /** Mark in the environment of everything that the service starts. A later hub uses it to find these processes. */
  tag: string;
  onStderrLine(line: string): void;
}

export interface ServiceProcess {
  pid: number;
  stdin: Writable;
  stdout: Readable;
  /** Settles when the first process of the service has ended. Processes that it left behind are then ended too. */
  ended: Promise<{ code: number | null; signal: string | null }>;
  /** Settles when stderr is closed. A process that the service left behind may keep it open. */
  logEnd: Promise<void>;
  /**
   * Ends the service with everything that it started: closes its input, then sends TERM, then KILL. Returns processes
   * that could not be ended, normally none.
   */
  stop(): Promise<Leftover[]>;
}

/** Time from closing the service's input to TERM. */
const INPUT_END_MS = 2000;

/**
 * Starts a program in its own session and communicates with it over pipes. Rejects with a `code`: COMMAND_NOT_FOUND,
 * COMMAND_NOT_EXECUTABLE, FOLDER_NOT_FOUND or SPAWN_FAILED.
 */
export async function startService(start: ServiceStart): Promise<ServiceProcess> {
  const child = await spawned(start);
  const pid = child.pid!;
  const tree = createServiceTree(start.table, start.tag, pid);
  let stopping: Promise<Leftover[]> | null = null;
  readStderr(child.stderr, start.onStderrLine);
  const logEnd = new Promise<void>(resolve => child.stderr.once('close', resolve));
  // A write to a process that has just ended must not become an uncaught exception.
  child.stdin.on('error', () => {});

  const ended = new Promise<{ code: number | null; signal: string | null }>(resolve => {
    child.once('exit', (code, signal) => {
      tree.wrapperEnded(Date.now());
      resolve({ code, signal });
    });
  });
  const swept = ended.then(async () => {
    const { survivors } = stopping ? { survivors: [] } : await sweep(start.table, tree, TERM_MS);
    return survivors;
  });
  // The process table may be unreadable for a while; `stop` tries again.
  swept.catch(() => {});

  async function stop(): Promise<Leftover[]> {
    // The process table is read while the parents are alive, so that children without a mark are found through them.
    await tree.members();
    child.stdin.end();
    await Promise.race([ended, afterInputEnd()]);
    const killAt = performance.now() + TERM_MS;
    const survivors = await killTree(start.table, tree, () => killAt);
    // A process that left the group may hold these pipes open.
    child.stdout.destroy();
    child.stderr.destroy();
    return survivors;
  }

  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
    logEnd,
    stop: () => {
      stopping ??=
        child.exitCode !== null || child.signalCode !== null ? swept.catch(() => []).then(stop) : stop();
      return stopping;
    },
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

async function spawned({ argv, cwd, env, tag }: ServiceStart): Promise<Child> {
  const [program, ...args] = argv;
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw failure('FOLDER_NOT_FOUND', `The folder ${cwd} does not exist.`);
  const found = findExecutable(program, { path: env.PATH ?? '', cwd });
  if (found.status === 'not_found')
    throw failure('COMMAND_NOT_FOUND', notFound(program, env.PATH ?? '', cwd));
  if (found.status === 'not_executable')
    throw failure('COMMAND_NOT_EXECUTABLE', `The program ${found.path} cannot be run.`);
  // With a run's mark the service would be ended together with that run.
  const { [RUN_VARIABLE]: _run, [TURN_VARIABLE]: _turn, ...rest } = env;

  const child = spawn(found.path, args, {
    cwd,
    env: { ...rest, [SERVICE_VARIABLE]: tag },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', error =>
      reject(failure('SPAWN_FAILED', `The program ${found.path} could not be started: ${error.message}`)),
    );
  });
  child.on('error', () => {});
  return child;
}

const MAX_PATH_LENGTH = 300;

/** The message lists the folders that were searched, because a short PATH is the usual reason. */
function notFound(program: string, path: string, cwd: string): string {
  if (program.includes('/'))
    return `The program ${program} was not found: there is no ${resolve(cwd, program)}.`;
  const where = path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path || 'empty';
  return `The program ${program} was not found in PATH (${where}).`;
}

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code });

function afterInputEnd(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, INPUT_END_MS).unref());
}

/**
 * Services of a hub carry the mark `<home>.<hub>.<n>` in their environment: 12 hex digits of a hash of the home's
 * path, 8 random hex digits for this life of the hub, and a number. With it a hub finds the processes that an earlier
 * hub of the same home left behind, and no others.
 */
export function createServiceTags(home: string) {
  const ofHome = `${createHash('sha256').update(home).digest('hex').slice(0, 12)}.`;
  const ofHub = `${ofHome}${randomBytes(4).toString('hex')}.`;
  let count = 0;
  return {
    next: () => `${ofHub}${++count}`,
    /** Whether another hub of this home started the service. A home has one hub at a time, so the other hub is dead. */
    isLeftBehind: (tag: string): boolean => tag.startsWith(ofHome) && !tag.startsWith(ofHub),
  };
}
