import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { programFolders, toolchainFolders } from './program-folders.ts';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'squad-folders-')));
  const made = home;
  onTestFinished(() => rmSync(made, { recursive: true }));
});

function program(path: string, content = '\x7fELF'): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, 0o755);
  return file;
}
const link = (path: string, target: string) => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  symlinkSync(target, join(home, path));
  return join(home, path);
};
const at = (...names: string[]) => names.map(name => join(home, name));

test('a script of a package needs the packages around it, every folder on the way, and its interpreter', () => {
  program('.nvm/node/v24/bin/node');
  mkdirSync(join(home, '.nvm/node/v24/lib'));
  program('tools/lib/node_modules/@x/cli/cli.js', '#!/usr/bin/env node\n');
  link('tools/bin/cli', '../lib/node_modules/@x/cli/cli.js');
  const name = link('bin/cli', join(home, 'tools/bin/cli'));
  const folders = programFolders(name, { PATH: join(home, '.nvm/node/v24/bin'), HOME: home });
  expect(folders.sort()).toEqual(at('.nvm/node/v24', 'bin', 'tools', 'tools/lib/node_modules').sort());
});

test('a folder with a bin is taken whole only if it is a toolchain, and never the home', () => {
  program('.cargo/bin/cargo');
  program('.cargo/credentials.toml');
  program('.rustup/settings.toml');
  program('.local/bin/x');
  mkdirSync(join(home, '.local/lib'));
  program('bin/y');
  mkdirSync(join(home, 'lib'));
  program('sdk/go/bin/go');
  mkdirSync(join(home, 'sdk/go/lib'));
  const PATH = [...at('.cargo/bin', '.local/bin', 'bin', 'sdk/go/bin', 'missing'), 'relative', ''].join(':');
  expect(toolchainFolders({ PATH, HOME: home }).sort()).toEqual(
    at('.cargo/bin', '.local/bin', '.rustup', 'bin', 'sdk/go').sort(),
  );
});

test('a program that is missing, or that links to itself, ends the search', () => {
  const loop = link('loop', 'loop');
  expect(programFolders(loop, { PATH: '', HOME: home })).toEqual([home]);
  expect(programFolders(join(home, 'none/x'), {})).toEqual([join(home, 'none')]);
});
