import { connect } from '../link/start-hub.ts';

/** A hub on its way out is gone well within this. */
const PATIENCE_MS = 10_000;
const TRY_EVERY_MS = 20;

/** The lock of this home, waiting out a hub that is on its way out; null when one is there to serve. */
export async function lockUnlessServed<T>(
  take: () => T | null,
  socketPath: string,
  patienceMs = PATIENCE_MS,
): Promise<T | null> {
  for (
    const until = performance.now() + patienceMs;
    ;
    await new Promise(wake => setTimeout(wake, TRY_EVERY_MS))
  ) {
    const lock = take();
    if (lock) return lock;
    const other = await connect(socketPath);
    other?.destroy();
    if (other || performance.now() > until) return null;
  }
}
