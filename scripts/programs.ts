import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Programs the tests use that npm does not bring. As root on Debian they are installed; elsewhere they are asked for. */
export function ensurePrograms(names: string[]): void {
  let missing = names.filter(name => !isThere(name));
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.error(`Installing ${missing.join(', ')} for the tests`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env });
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], {
      stdio: 'inherit',
      env,
    });
    missing = names.filter(name => !isThere(name));
  }
  if (missing.length === 0) return;
  console.error(
    `The tests need ${missing.join(', ')}: install ${missing.length === 1 ? 'it' : 'them'} and run this again.`,
  );
  process.exit(1);
}

/** Where the program is not called what its package is. */
const PROGRAM_OF: Readonly<Record<string, string>> = {
  bubblewrap: 'bwrap',
  'openssh-server': '/usr/sbin/sshd',
};

const isThere = (name: string) =>
  spawnSync('sh', ['-c', `command -v ${PROGRAM_OF[name] ?? name}`]).status === 0;
