import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = join(import.meta.dirname, '..', '..');

export interface Build extends Disposable {
  /** Its `squad`. */
  bin: string;
  version: string;
}

/** The same program under a later version, in a folder of its own: what an upgrade beside a running hub looks like. */
export function newerBuild(version: string): Build {
  const root = mkdtempSync(join(tmpdir(), 'squad-newer-'));
  execFileSync(process.execPath, [join(PACKAGE, 'scripts', 'build.ts'), join(root, 'dist')], {
    env: { ...process.env, SQUAD_BUILD_VERSION: version },
    stdio: 'inherit',
  });
  cpSync(join(PACKAGE, 'bin'), join(root, 'bin'), { recursive: true });
  for (const folder of ['node_modules', 'roles', 'templates'])
    symlinkSync(join(PACKAGE, folder), join(root, folder));
  return {
    bin: join(root, 'bin', 'squad.cjs'),
    version,
    [Symbol.dispose]: () => rmSync(root, { recursive: true }),
  };
}
