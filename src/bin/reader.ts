import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../core/off-thread.ts';
import { readRecordedTurn } from '../engines/opencode/opencode-database.ts';
import { asSquadError } from '../schema/error.ts';
import { OFF_THREAD_READERS } from '../workspace/files/off-thread-readers.ts';

const READERS = { ...OFF_THREAD_READERS, 'opencode turn': readRecordedTurn };

/** The thread that reads large files: see `offThread`. */
parentPort?.on('message', async ({ name, args }: { name: string; args: unknown[] }) => {
  const read = READERS[name as keyof typeof READERS] as (...args: unknown[]) => unknown;
  let reply: ThreadReply;
  try {
    reply = { result: await read(...args) };
  } catch (thrown) {
    reply = { error: asSquadError(thrown).toShape() };
  }
  parentPort?.postMessage(reply);
});
