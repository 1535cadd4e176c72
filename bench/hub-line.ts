import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Proof } from '../src/link/handshake.ts';
import { socketPath } from '../src/link/home.ts';
import { isRunning } from '../src/link/hub-record.ts';
import { hubArguments } from '../src/link/start-hub.ts';
import type { BenchSquad } from './bench-squad.ts';
import { until } from './measure.ts';

/** Pause until the previous hub has loaded the modules that it loads late. */
const REST_MS = 300;

/** Starts the hub directly, without a client. */
export function spawnHub(squad: BenchSquad): void {
  spawn(process.execPath, hubArguments(join(squad.program, 'dist', 'hub.cjs')), {
    cwd: '/',
    env: squad.env(),
    detached: true,
    stdio: 'ignore',
  }).unref();
}

/** Kills the hub with SIGKILL, starts the next one, and sends requests until it answers. */
export async function restartHub(squad: BenchSquad): Promise<{ answeredMs: number; startedAt: number }> {
  await delay(REST_MS);
  // A hub without runs may have ended by itself.
  const hub = await askHub<{ pid: number }>(squad, 'hub_status');
  if (hub) {
    process.kill(hub.pid, 'SIGKILL');
    await until('the hub is gone', () => !isRunning(hub.pid), { everyMs: 1 });
  }
  const startedAt = Date.now();
  const start = performance.now();
  spawnHub(squad);
  await until('the hub answers', () => askHub(squad, 'hub_status'), { everyMs: 1 });
  return { answeredMs: performance.now() - start, startedAt };
}

interface Question {
  input?: object;
  /** Maximum wait for runs that the request starts. */
  waitMs?: number;
  /** Environment of the caller, in addition to the usual one. */
  env?: Record<string, string>;
}

/** Sends one request to the socket of the hub, as the terminal does. Null without a hub. */
export function askHub<T>(
  squad: Pick<BenchSquad, 'home' | 'workspace' | 'env'>,
  operation: string,
  { input, waitMs, env }: Question = {},
): Promise<T | null> {
  const hello = {
    squad: 1,
    version: '0.0.0',
    view: 'control',
    pid: process.pid,
    cwd: squad.workspace,
    env: squad.env(env),
  };
  return new Promise((resolve, reject) => {
    const socket = createConnection(socketPath(squad.home));
    let text = '';
    const proof = new Proof();
    socket.on('connect', () =>
      socket.write(`${JSON.stringify(hello)}\n${JSON.stringify({ id: 1, operation, input, waitMs })}\n`),
    );
    socket.setEncoding('utf8').on('data', chunk => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop()!;
      const words = lines.map(line => JSON.parse(line)).filter(each => !proof.answers(each));
      const answer = words.find(each => 'result' in each || 'error' in each);
      if (!answer) return;
      const { result, error } = answer;
      if (error) reject(new Error(error.message));
      else resolve(result);
      socket.destroy();
    });
    socket.on('error', () => resolve(null));
    socket.on('close', () => proof.release());
    socket.on('close', () => resolve(null));
  });
}
