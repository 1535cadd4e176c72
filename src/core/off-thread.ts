import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type ErrorShape, SquadError } from '../schema/error.ts';

/**
 * Size up to which a text is read inline. The slowest reader needs a few milliseconds for such a text, and a thread
 * takes longer to start.
 */
export const MAX_INLINE_CHARS = 8 * 1024;
/** On a busy machine the thread alone can take seconds to start. */
const TASK_TIMEOUT_MS = 30_000;
const IDLE_MS = 10_000;
/** Heap limit: a hostile file can exhaust the memory of the thread, but not that of the hub. */
const MAX_HEAP_MB = 512;

export type ThreadReply = { result: unknown } | { error: ErrorShape };

/**
 * Calls a pure reader with these arguments, in another thread if `size` is large, so that files of a repository do not
 * block all other work. The thread knows readers by name (`OFF_THREAD_READERS`).
 */
export async function offThread<Args extends unknown[], Result>(
  name: string,
  read: (...args: Args) => Result | Promise<Result>,
  size: number,
  ...args: Args
): Promise<Result> {
  if (size <= MAX_INLINE_CHARS) return read(...args);
  return new Promise((resolve, reject) => {
    waiting.push({ name, args, resolve: result => resolve(result as Result), reject });
    next();
  });
}

interface Task {
  name: string;
  args: unknown[];
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

const waiting: Task[] = [];
let current: Task | null = null;
let thread: Worker | null = null;
let idle: NodeJS.Timeout | undefined;

/** Runs one task at a time, so that a timeout stops only the task that takes too long. */
function next(): void {
  if (current || waiting.length === 0) return;
  current = waiting.shift()!;
  clearTimeout(idle);
  thread ??= start();
  thread.ref();
  idle = setTimeout(giveUp, TASK_TIMEOUT_MS);
  try {
    thread.postMessage({ name: current.name, args: current.args });
  } catch (thrown) {
    // The value cannot be sent to the thread, because it is nested too deeply for the stack.
    finish(task => task.reject(thrown));
  }
}

function start(): Worker {
  // Without a build, the script is a TypeScript file. In a build, all bundles are in one folder.
  const script = import.meta.url
    ? new URL('../bin/reader.ts', import.meta.url)
    : join(__dirname, 'reader.cjs');
  const worker = new Worker(script, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  worker.on('message', (reply: ThreadReply) => {
    if ('error' in reply) finish(task => task.reject(SquadError.from(reply.error)));
    else finish(task => task.resolve(reply.result));
  });
  // The task of a broken thread fails; the next task gets a new thread.
  const broken = (error: unknown) => {
    if (thread !== worker) return;
    thread = null;
    finish(task => task.reject(error));
  };
  worker.on('error', broken);
  worker.on('exit', () => broken(new Error('The thread that reads files ended')));
  return worker;
}

function giveUp(): void {
  const slow = thread;
  thread = null;
  void slow?.terminate();
  finish(task => task.reject(new TookTooLong()));
}

export class TookTooLong extends SquadError {
  constructor() {
    super('CONFIG_INVALID', `Reading took longer than ${TASK_TIMEOUT_MS / 1000} s and was given up.`, {
      suggestions: ['Make the file shorter or simpler, then try again.'],
    });
  }
}

function finish(settle: (task: Task) => void): void {
  const task = current;
  if (!task) return;
  current = null;
  clearTimeout(idle);
  thread?.unref();
  const over = thread;
  idle = setTimeout(() => {
    if (thread === over) thread = null;
    void over?.terminate();
  }, IDLE_MS).unref();
  settle(task);
  next();
}
