import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cliAt } from '../../scripts/engine-clis.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-clis-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const cache = () => join(folder, 'cache');
const calls = () => readFileSync(join(folder, 'calls'), 'utf8').split('\n').filter(Boolean);

/** An npm that writes down how it was called, then does what the test says. */
function npm(does: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const file = join(folder, 'bin', 'npm');
  writeFileSync(file, `#!/bin/sh\necho "$*" >> '${folder}/calls'\n${does}\n`);
  chmodSync(file, 0o755);
}

const INSTALLS =
  'mkdir -p node_modules/.bin && touch node_modules/.bin/gemini && chmod +x node_modules/.bin/gemini';

function install(...names: string[]): Promise<{ code: number | null; said: string }> {
  const script = join(import.meta.dirname, '..', '..', 'scripts', 'engine-clis.ts');
  const env = {
    PATH: `${join(folder, 'bin')}:${dirname(process.execPath)}:/usr/bin:/bin`,
    SQUAD_ENGINES_CACHE: cache(),
  };
  const child = spawn(process.execPath, [script, ...names], { env });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      said += text;
    });
  return new Promise(resolve => child.on('close', code => resolve({ code, said })));
}

test('installs exactly the pinned version, once', async () => {
  npm(INSTALLS);
  const { program, version } = cliAt('gemini', cache());
  expect(await install('gemini')).toEqual({ code: 0, said: `gemini ${program}\n` });
  expect(await install('gemini')).toEqual({ code: 0, said: `gemini ${program}\n` });
  expect(calls()).toEqual([expect.stringContaining(`@google/gemini-cli@${version} --save-exact`)]);
  expect(existsSync(program)).toBe(true);
});

test('two at once both end with the CLI there and nothing left over', async () => {
  // Each waits for the other to have begun.
  npm(
    `n=0; while [ $(wc -l < '${folder}/calls') -lt 2 ] && [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done; ${INSTALLS}`,
  );
  const both = await Promise.all([install('gemini'), install('gemini')]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(calls()).toHaveLength(2);
  expect(readdirSync(cache())).toEqual([`gemini-${cliAt('gemini').version}`]);
});

test('a CLI that cannot be installed is named, with the message of npm', async () => {
  npm('echo "registry says no" >&2; exit 7');
  const { code, said } = await install('gemini');
  expect(code).toBe(1);
  expect(said).toContain(
    `Could not install @google/gemini-cli@${cliAt('gemini').version} for gemini: npm ended with 7`,
  );
  expect(said).toContain('registry says no');
  expect(readdirSync(cache())).toEqual([]);
});

test('a package without its program is not taken for installed', async () => {
  npm('mkdir -p node_modules/.bin');
  const { code, said } = await install('gemini');
  expect(code).toBe(1);
  expect(said).toContain('has no program .bin/gemini');
  expect(readdirSync(cache())).toEqual([]);
});

test('a half-deleted folder is installed anew', async () => {
  npm(INSTALLS);
  mkdirSync(join(cache(), `gemini-${cliAt('gemini').version}`), { recursive: true });
  expect((await install('gemini')).code).toBe(0);
  expect(existsSync(cliAt('gemini', cache()).program)).toBe(true);
});

test('a name nobody knows is refused', async () => {
  expect((await install('cursor')).said).toContain('no such CLI: cursor; known are claude, codex');
});
