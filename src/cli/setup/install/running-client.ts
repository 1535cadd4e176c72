import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Client, InstallContext } from './clients.ts';

/**
 * Process ids of the client's programs that run with this home. Without `/proc` the home of a process is unknown, so
 * all processes of this user count.
 */
export function runningClient(
  { programs }: Pick<Client, 'programs'>,
  { home, platform }: Pick<InstallContext, 'home' | 'platform'>,
): number[] {
  const processes = platform === 'linux' ? fromProc(home) : fromPs();
  return processes.filter(({ words }) => isProgram(words, programs)).map(({ pid }) => pid);
}

interface Listed {
  pid: number;
  words: string[];
}

/** Scripts are started by an interpreter, which may have flags: `node --expose-gc /usr/bin/gemini`. */
function isProgram(words: string[], programs: string[]): boolean {
  const [program = '', script = ''] = words.filter(word => !word.startsWith('-'));
  return programs.includes(basename(program)) || programs.includes(basename(script));
}

function fromProc(home: string): Listed[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const variables = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        return variables.includes(`HOME=${home}`) ? [{ pid: Number(name), words }] : [];
      } catch {
        return []; // the process has just ended, or belongs to another user
      }
    });
}

function fromPs(): Listed[] {
  const { stdout } = spawnSync('ps', ['-xww', '-o', 'pid=,args='], { encoding: 'utf8', timeout: 5_000 });
  return (stdout ?? '').split('\n').flatMap(line => {
    const [pid = '', ...words] = line.trim().split(/\s+/);
    return pid === '' ? [] : [{ pid: Number(pid), words }];
  });
}
