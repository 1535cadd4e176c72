import { setTimeout as delay } from 'node:timers/promises';

/** Long for a commit, short for who waits for an answer. */
const A_MOMENT_MS = 250;

/** Waits for something to be written, so that who asks next finds it; but a database that somebody holds is not waited for. */
export async function soonOnDisk(written: Promise<unknown>): Promise<void> {
  await Promise.race([written, delay(A_MOMENT_MS, null, { ref: false })]);
}
