import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The package as it ships, built from the source as it is now, where no other build can change it under our hands. */
export function copyPackage(folder: string): string {
  mkdirSync(folder);
  for (const part of ['bin', 'roles', 'templates'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'build.ts'), join(folder, 'dist')], {
    stdio: 'inherit',
  });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
