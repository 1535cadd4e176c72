/** This file and its parts in `app/` assemble the hub. Only they know every adapter. */
import { type HubOptions, openHome } from './app/open-home.ts';
import { type Recovered, recoverRuns } from './app/recover-runs.ts';
import { createStop, type RunningHub, serveHub } from './app/serve-hub.ts';
import { wireRuns } from './app/wire-runs.ts';
import { wireViews } from './app/wire-views.ts';

export interface StartOptions extends HubOptions {
  /** Called before the recovery of earlier runs, which can take long. The caller can stop the hub from here on. */
  onWired?(hub: RunningHub): void;
}

/** Starts a hub in this process. Null when another hub already has this home. */
export async function startHub({ onWired, ...options }: StartOptions): Promise<RunningHub | null> {
  const home = await openHome(options);
  if (!home) return null;
  const runs = wireRuns(home, {
    services: () => views.services,
    httpUrl: async () => {
      await views.http.open();
      return views.http.url;
    },
    onIdler: () => views.lifetime.review(),
  });
  const views = wireViews(home, runs, {
    stop: reason => void hub.stop(reason),
    recovered: () => recovered,
  });
  const hub = createStop(home, runs, views);
  onWired?.(hub);
  const recovered: Promise<Recovered> = recoverRuns(home, runs);
  recovered.catch(() => {}); // `serveHub` awaits this promise too and reports its error once the socket is open
  await serveHub(home, runs, views, hub, recovered);
  return hub;
}

/**
 * Runs a hub as this process: signals stop the hub, and the process exits with it. Null when another hub already has
 * this home.
 */
export function runHub(options: HubOptions): Promise<RunningHub | null> {
  return startHub({
    ...options,
    onWired({ stop, ended, reportBug }) {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
      process.on('SIGHUP', () => {}); // the hub survives when the terminal that started it closes
      process.on('uncaughtException', reportBug);
      process.on('unhandledRejection', reportBug);
      void ended.then(isClean => process.exit(isClean ? 0 : 1));
    },
  });
}
