import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isBuilt } from '../test/support/build-once.ts';

const ROOT = join(import.meta.dirname, '..');

/** The package as published, built from the current source, in a folder that no other build changes. */
export function copyPackage(folder: string): string {
  mkdirSync(folder);
  for (const part of ['bin', 'roles', 'templates'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  const dist = join(folder, 'dist');
  if (isBuilt()) cpSync(join(ROOT, 'dist'), dist, { recursive: true });
  else execFileSync(process.execPath, [join(ROOT, 'scripts', 'build.ts'), dist], { stdio: 'inherit' });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
