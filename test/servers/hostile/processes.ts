import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import type { Behaviour } from './behaviour.ts';

/** Lives until it is killed, ignores SIGTERM and SIGHUP, and keeps nothing of ours open. */
const SURVIVOR = "process.on('SIGTERM',()=>{});process.on('SIGHUP',()=>{});setInterval(()=>{},60000)";

function startChild(detached: boolean): void {
  const child = spawn(process.execPath, ['-e', SURVIVOR], { detached, stdio: 'ignore' });
  if (process.env.PIDS_FILE) appendFileSync(process.env.PIDS_FILE, `${child.pid}\n`);
  child.unref();
}

/** Servers that do not end properly. PIDS_FILE gets the pid of every process they start. */
export const PROCESSES = {
  stubborn: {
    what: 'ignores SIGTERM and the end of its input',
    comesUp: true,
    call: 'result',
    stubborn: true,
  },
  'leaves-children': {
    what: 'starts children that ignore SIGTERM, one of them in a session of its own',
    comesUp: true,
    call: 'result',
    started: () => {
      startChild(false);
      startChild(true);
    },
  },
  'stubborn-parent': {
    what: 'does both',
    comesUp: true,
    call: 'result',
    stubborn: true,
    started: () => {
      startChild(false);
      startChild(true);
    },
  },
} satisfies Record<string, Behaviour>;
