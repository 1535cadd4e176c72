import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeOnPath } from './package-files.ts';

test('the link on PATH is preferred to the version behind it, unless it lasts only for one shell', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-node-')));
  const folder = (name: string) => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };
  const real = join(folder('cellar/node/24.1.0'), 'node');
  writeFileSync(real, '');
  writeFileSync(join(folder('other'), 'node'), '');
  symlinkSync(real, join(folder('fnm_multishells/1_2'), 'node'));
  symlinkSync(real, join(folder('bin'), 'node'));
  const path = ['other', 'missing', 'fnm_multishells/1_2', 'bin'].map(name => join(root, name)).join(':');
  expect(nodeOnPath(real, path)).toBe(join(root, 'bin/node'));
  expect(nodeOnPath(real, `bin:${join(root, 'other')}`)).toBe(real);
  expect(nodeOnPath(real, undefined)).toBe(real);
});
