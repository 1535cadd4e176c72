/** A home of its own for an agent, with a folder to work in; gone afterwards, with whatever still runs in it. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineCache } from '../../scripts/engine-clis.ts';

export interface AgentHome extends Disposable {
  home: string;
  cwd: string;
  /** Living processes that have this HOME. */
  processes(): number[];
}

/** Beside the CLIs, not in the temp folder: Codex's sandbox does not start from there, and lets everything be written there. */
export function agentHome(): AgentHome {
  const cache = engineCache();
  const isTemporary = [tmpdir(), '/tmp'].some(folder => cache.startsWith(`${folder}/`));
  const place = isTemporary ? '/var/tmp' : cache;
  mkdirSync(place, { recursive: true });
  const home = mkdtempSync(join(place, 'squad-home-'));
  const cwd = join(home, 'work');
  mkdirSync(cwd);
  mkdirSync(join(home, 'tmp'));
  return {
    home,
    cwd,
    processes: () => processesWith(`HOME=${home}`),
    [Symbol.dispose]() {
      for (const pid of processesWith(`HOME=${home}`)) end(pid);
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

function processesWith(variable: string): number[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return pids.filter(pid => environment(pid).includes(variable)).map(Number);
}

function environment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    // It ended meanwhile, or is not ours.
    return [];
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
