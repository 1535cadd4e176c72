import { chmodSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findOwnCommand, isInRunnerCache, missingAlias, withOwnCommand } from './own-command.ts';

function machine() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'squad-command-')));
  const at = (path: string) => join(root, path);
  const program = (path: string, text = '#!/bin/sh\n') => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
    chmodSync(at(path), 0o755);
    return at(path);
  };
  const link = (from: string, to: string) => {
    mkdirSync(dirname(at(from)), { recursive: true });
    symlinkSync(to, at(from));
  };
  /** As npm installs this package below a folder. */
  const install = (folder: string) => {
    const own = `${folder}/lib/node_modules/squad-mcp`;
    program(`${own}/package.json`, '{"name":"squad-mcp"}');
    for (const name of ['squad', 'squad-mcp'])
      link(`${folder}/bin/${name}`, program(`${own}/bin/${name}.cjs`, '#!/usr/bin/env node\n'));
    return at(own);
  };
  return { at, program, link, install, path: (...names: string[]) => names.map(at).join(':') };
}

describe('the command that starts this program', () => {
  test('is squad, also by another version of this package, and where PATH has neither', () => {
    const { install, path } = machine();
    const own = install('mine');
    install('older');
    expect(findOwnCommand(path('mine/bin'), own)).toEqual({ name: 'squad', other: null });
    expect(findOwnCommand(path('older/bin', 'mine/bin'), own)).toEqual({ name: 'squad', other: null });
    expect(findOwnCommand(undefined, own)).toEqual({ name: 'squad', other: null });
  });

  test('needs an alias where PATH has none of its names, but not with npx', () => {
    const { install, path, at } = machine();
    const own = install('mine');
    const aliasOf = (folders: string, script: string) => missingAlias(folders, script, '/my node/node');
    expect(aliasOf(path('empty'), '/src/squad/bin/squad.cjs')).toBe(
      String.raw`alias squad=''\''/my node/node'\'' /src/squad/bin/squad.cjs'`,
    );
    expect(aliasOf(path('mine/bin'), own)).toBeNull();
    expect(aliasOf(path('empty'), at('_npx/1f/node_modules/squad-mcp/bin/squad.cjs'))).toBeNull();
  });

  test('is squad-mcp where another program comes first, and squad where it comes later', () => {
    const { install, program, path } = machine();
    const own = install('mine');
    const other = program('other/squad', '#!/usr/bin/env node\nimport "@bradygaster/squad-cli";\n');
    expect(findOwnCommand(path('other', 'mine/bin'), own)).toEqual({ name: 'squad-mcp', other });
    expect(findOwnCommand(path('mine/bin', 'other'), own)).toEqual({ name: 'squad', other: null });
    // From a clone only an alias starts it.
    expect(findOwnCommand(path('other'), own)).toEqual({ name: 'squad', other });
  });

  test('a link to a file of the same name in another package is another program', () => {
    const { install, program, link, path, at } = machine();
    const own = install('mine');
    program('lib/other/package.json', '{"name":"other"}');
    link('other/squad', program('lib/other/bin/squad.cjs', '#!/usr/bin/env node\n'));
    expect(findOwnCommand(path('other', 'mine/bin'), own)).toEqual({
      name: 'squad-mcp',
      other: at('other/squad'),
    });
  });

  test('a script of pnpm or of the user that starts this package is this program', () => {
    const { install, program, path } = machine();
    const own = install('mine');
    program(
      'pnpm/squad',
      '#!/bin/sh\nexec node "$basedir/global/5/node_modules/squad-mcp/bin/squad.cjs" "$@"\n',
    );
    expect(findOwnCommand(path('pnpm', 'mine/bin'), own)).toEqual({ name: 'squad', other: null });
  });

  test('is npx squad-mcp when npx runs it and PATH has it only for now', () => {
    const { install, path, program } = machine();
    const own = install('.npm/_npx/1a2b');
    expect(isInRunnerCache(own)).toBe(true);
    expect(findOwnCommand(path('.npm/_npx/1a2b/bin'), own)).toEqual({ name: 'npx squad-mcp', other: null });
    const other = program('other/squad');
    expect(findOwnCommand(path('.npm/_npx/1a2b/bin', 'other'), own)).toEqual({
      name: 'npx squad-mcp',
      other,
    });
  });
});

test.each([
  [
    'Start one: squad run ROLE "TASK"   (list roles: squad roles)',
    'Start one: squad-mcp run ROLE "TASK"   (list roles: squad-mcp roles)',
  ],
  ['`squad hub log` shows why.', '`squad-mcp hub log` shows why.'],
  ['A squad of four; the runs of a squad that failed', null],
  ['see .squad/squad.json and squad://roster, or /opt/squad run by hand', null],
])('in a text of ours only commands are renamed: %s', (text, renamed) => {
  expect(withOwnCommand(text, { name: 'squad-mcp', other: '/other' })).toBe(renamed ?? text);
  expect(withOwnCommand(text, { name: 'squad', other: null })).toBe(text);
});
