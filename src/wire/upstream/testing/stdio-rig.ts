import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Json, LinkEvents, LinkOptions, UpstreamLink } from '../link.ts';
import { openStdioLink } from '../stdio-link.ts';

export interface Heard {
  notices: { method: string; params: Json }[];
  stray: number;
  events: LinkEvents;
}

export function listener(onRequest?: LinkEvents['onRequest']): Heard {
  const heard: Heard = {
    notices: [],
    stray: 0,
    events: {
      onNotification: (method, params) => heard.notices.push({ method, params }),
      onStray: () => {
        heard.stray++;
      },
      ...(onRequest && { onRequest }),
    },
  };
  return heard;
}

export interface StdioRig {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Text that the server wrote to its log. */
  log(): string;
  ended: Promise<{ code: number | null; signal: string | null }>;
  end(): Promise<void>;
}

/** Starts a fixture of this folder as a separate process. */
export function startFixture(file: string, ...args: string[]): StdioRig {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../fixtures', file), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', chunk => {
    log = (log + chunk).slice(-10_000);
  });
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  return {
    child,
    log: () => log,
    ended,
    end: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export const clientInfo = { name: 'squad-test', version: '0.0.1' };

export function linkTo(
  rig: StdioRig,
  events: LinkEvents,
  more: Partial<LinkOptions> = {},
): Promise<UpstreamLink> {
  const { stdin, stdout } = rig.child;
  return openStdioLink({
    stdin,
    stdout,
    ended: rig.ended,
    events,
    clientInfo,
    startTimeoutMs: 20_000,
    ...more,
  });
}
