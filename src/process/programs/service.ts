import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { LineSplitter } from '../../base/lines.ts';
import { killTree, type Leftover, sweep } from '../table/kill-tree.ts';
import { RUN_VARIABLE, SERVICE_VARIABLE, TURN_VARIABLE } from '../table/process-info.ts';
import type { ProcessTable } from '../table/process-table.ts';
import { findExecutable } from './find-executable.ts';
import { createServiceTree, TERM_MS } from './service-tree.ts';

const MAX_LINE_BYTES = 1024 * 1024;
/** What is looked at of one second's output; a program that says more is only listened to with half an ear. */
const MAX_PER_SECOND = 1024 * 1024;
/** Of what is too much, this is kept of its end, in however many pieces that came. */
const KEPT_END = 16 * 1024;

/**
 * Reads lines for as long as they come. The writer never has to wait for us, and a flood costs neither memory nor much
 * time: what is too much for one second is left out, but for the end of it, where the reason for a crash would stand.
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
      // The line that was cut off, and the one that begins in the middle, are no lines: half a secret is not known for one.
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

interface ServiceStart {
  table: ProcessTable;
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All of it: nothing is taken over from this process. */
  env: Record<string, string>;
  /** In the environment of everything it starts; see service-tag.ts. */
  tag: string;
  onStderrLine(line: string): void;
}

export interface ServiceProcess {
  pid: number;
  stdin: Writable;
  stdout: Readable;
  /** When its first process has ended. What that left behind is ended then, too. */
  ended: Promise<{ code: number | null; signal: string | null }>;
  /** When its log can bring nothing more. Something it left behind may hold it open. */
  logEnd: Promise<void>;
  /** Ends it with everything it started: its input is closed, then TERM, then KILL. Returns what could not be ended, normally nothing. */
  stop(): Promise<Leftover[]>;
}

/** From the end of its input to TERM. */
const INPUT_END_MS = 2000;

/**
 * Starts a program that is talked to over its streams, in a session of its own. Rejects with a `code`: COMMAND_NOT_FOUND,
 * COMMAND_NOT_EXECUTABLE, FOLDER_NOT_FOUND or SPAWN_FAILED.
 */
export async function startService(start: ServiceStart): Promise<ServiceProcess> {
  const child = await spawned(start);
  const pid = child.pid!;
  const tree = createServiceTree(start.table, start.tag, pid);
  let stopping: Promise<Leftover[]> | null = null;
  readStderr(child.stderr, start.onStderrLine);
  const logEnd = new Promise<void>(resolve => child.stderr.once('close', resolve));
  // A write to one that has just ended must not become an uncaught exception.
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
  // The table may be unreadable for a while; then there is still `stop`.
  swept.catch(() => {});

  async function stop(): Promise<Leftover[]> {
    // Seen while its parents live, what has shed every mark is known.
    await tree.members();
    child.stdin.end();
    await Promise.race([ended, afterInputEnd()]);
    const killAt = performance.now() + TERM_MS;
    const survivors = await killTree(start.table, tree, () => killAt);
    // Something that is no longer ours may hold these open.
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
    throw failure('FOLDER_NOT_FOUND', `The folder ${cwd} is not there.`);
  const found = findExecutable(program, { path: env.PATH ?? '', cwd });
  if (found.status === 'not_found')
    throw failure('COMMAND_NOT_FOUND', notFound(program, env.PATH ?? '', cwd));
  if (found.status === 'not_executable')
    throw failure('COMMAND_NOT_EXECUTABLE', `The program ${found.path} cannot be run.`);
  // A run's mark would make it end with that run.
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

/** With where it was looked for: mostly that is why. */
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
 * Services of one hub carry `<home>.<hub>.<n>` in their environment: 12 hex of a hash of the home's path, 8 random hex of
 * the hub's life, and a number. So a hub finds what an earlier one of its home left behind, and nobody else's.
 */
interface ServiceTags {
  next(): string;
  /** Whether a service was started by another hub of this home. One home has one hub at a time, so that one is dead. */
  isLeftBehind(tag: string): boolean;
}

export function createServiceTags(home: string): ServiceTags {
  const ofHome = `${createHash('sha256').update(home).digest('hex').slice(0, 12)}.`;
  const ofHub = `${ofHome}${randomBytes(4).toString('hex')}.`;
  let count = 0;
  return {
    next: () => `${ofHub}${++count}`,
    isLeftBehind: tag => tag.startsWith(ofHome) && !tag.startsWith(ofHub),
  };
}
