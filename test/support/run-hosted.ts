import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { COMPILE_CACHE } from './compile-cache.ts';
import type { Ran } from './squad.ts';

/** What a host needs to know of a command. */
export interface Hosted {
  args: string[];
  env: Record<string, string>;
  cwd: string;
  umask: number;
  input: string;
}

/** Refused: it could not be set up, so nothing happened. Last: the host ends with it. */
export type HostReply = { ran: Ran; isLast?: true } | { refused: true };

const HOST = join(import.meta.dirname, 'command-host.ts');
const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'cli.cjs');
/** Commands that run at the same time have a host each; afterwards as many stay as tests usually need at once. */
const MAX_IDLE = 2;
const idle: ChildProcess[] = [];

/** Runs `squad …` to its end in a process that runs one command after the other. Null: this one needs a process of its own. */
export async function runHosted(bin: string, command: Hosted): Promise<Ran | null> {
  const host = idle.pop() ?? startHost(bin);
  host.ref();
  host.channel!.ref();
  const reply = await new Promise<HostReply>(settle => {
    let stderr = '';
    const hear = (chunk: Buffer) => {
      stderr += chunk;
    };
    host.stderr!.on('data', hear);
    // It broke off, as a process of its own would have.
    const left = (code: number | null) => settle({ ran: { code, stdout: '', stderr }, isLast: true });
    host.once('close', left);
    host.once('message', (told: HostReply) => {
      host.off('close', left);
      host.stderr!.off('data', hear);
      settle(told);
    });
    host.send(command);
  });
  host.unref();
  host.channel?.unref();
  if (!('isLast' in reply)) stay(host);
  return 'ran' in reply ? reply.ran : null;
}

function stay(host: ChildProcess): void {
  if (idle.length < MAX_IDLE) idle.push(host);
  else host.disconnect();
}

function startHost(bin: string): ChildProcess {
  const host = fork(HOST, [bin, PROGRAM], {
    execArgv: [],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  (host.stderr as unknown as { unref(): void }).unref();
  host.once('exit', () => {
    if (idle.includes(host)) idle.splice(idle.indexOf(host), 1);
  });
  return host;
}
