import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * Makes sure that programs exist that tests use and npm does not install. As root on Debian, installs missing ones.
 * Otherwise throws and names them.
 */
export function ensurePrograms(names: string[]): void {
  let missing = names.filter(name => !isThere(name));
  if (missing.length === 0) return;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    console.error(`Installing ${missing.join(', ')} for the tests`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update', '-qq'], { stdio: 'inherit', env });
    const optional = missing.filter(name => name in INSTEAD_OF);
    // Separately: apt-get installs nothing if it does not know one of the packages.
    for (const packages of [missing.filter(name => !optional.includes(name)), optional])
      if (packages.length > 0)
        spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
          stdio: 'inherit',
          env,
        });
    missing = names.filter(name => !isThere(name));
  }
  missing = missing.filter(name => !isThere(INSTEAD_OF[name] ?? name));
  if (missing.length === 0) return;
  console.error(
    `The tests need ${missing.join(', ')}: install ${missing.length === 1 ? 'it' : 'them'} and run this again.`,
  );
  process.exit(1);
}

/** Programs that slow the tests down where they are used instead of one that cannot be installed. */
const INSTEAD_OF: Readonly<Record<string, string>> = { 'chromium-headless-shell': 'chromium' };

/** Programs whose name differs from that of their package. */
const PROGRAM_OF: Readonly<Record<string, string>> = {
  bubblewrap: 'bwrap',
  'openssh-server': '/usr/sbin/sshd',
};

const isThere = (name: string) =>
  spawnSync('sh', ['-c', `command -v ${PROGRAM_OF[name] ?? name}`]).status === 0;
