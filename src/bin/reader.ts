import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../core/off-thread.ts';
import { asSquadError } from '../schema/error.ts';
import { OFF_THREAD_READERS } from '../workspace/files/off-thread-readers.ts';

/** The thread that reads large files: see `offThread`. */
parentPort?.on('message', async ({ name, args }: { name: string; args: unknown[] }) => {
  const read = OFF_THREAD_READERS[name as keyof typeof OFF_THREAD_READERS] as (...args: unknown[]) => unknown;
  let reply: ThreadReply;
  try {
    reply = { result: await read(...args) };
  } catch (thrown) {
    reply = { error: asSquadError(thrown).toShape() };
  }
  parentPort?.postMessage(reply);
});
