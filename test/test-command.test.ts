import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Counts } from '../scripts/run-vitest.ts';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, 'node_modules', '.cache');
const RUNS = `
  import { runVitestPatiently } from ${JSON.stringify(join(ROOT, 'scripts', 'run-vitest.ts'))};
  const counts = await runVitestPatiently(['--root', '.']);
  process.stdout.write('\\n@' + JSON.stringify(counts));`;

let folder: string;
beforeEach(() => {
  // Where the files of this run can import vitest.
  mkdirSync(CACHE, { recursive: true });
  folder = mkdtempSync(join(CACHE, 'test-command-'));
  writeFileSync(join(folder, 'vitest.config.ts'), "export default { test: { include: ['*.test.ts'] } };");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file with one good test and what the body says; `isFirst` is true where it has not been loaded before. */
const given = (name: string, body: string): void =>
  writeFileSync(
    join(folder, `${name}.test.ts`),
    `import { existsSync, writeFileSync } from 'node:fs';
     import { beforeAll, expect, test } from 'vitest';
     const isFirst = !existsSync('${name}.loaded');
     writeFileSync('${name}.loaded', '');
     test('good', () => {});
     ${body}`,
  );

function counts(): Counts {
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', RUNS], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(ROOT, 'node_modules', '.bin')}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(said.slice(said.lastIndexOf('\n@') + 2));
}

test('a file that passes when it is run again alone is passed, and its failures are named', () => {
  given('once', "test('shaky', () => expect(isFirst).toBe(false));");
  given('setup', "beforeAll(() => { if (isFirst) throw new Error('not yet'); });");
  given('load', "if (isFirst) throw new Error('could not be loaded');");
  const { passed, failures, unsteady, files } = counts();
  expect([passed, failures]).toEqual([4, []]);
  expect(unsteady.map(told => told.split('\n')[0]).sort()).toEqual([
    'load.test.ts',
    'once.test.ts › shaky',
    'setup.test.ts › good',
  ]);
  expect(files).toHaveLength(3);
  for (const { seconds } of files) expect(seconds).toBeGreaterThanOrEqual(0);
});

test('a test that fails again, or is skipped, fails the run', () => {
  given('bad', "test('broken', () => expect(1).toBe(2));");
  given('left', "test.skip('left out', () => {});");
  const { passed, failures, unsteady } = counts();
  expect([passed, unsteady]).toEqual([2, []]);
  expect(failures.map(told => told.split('\n')[0]).sort()).toEqual([
    'bad.test.ts › broken',
    'left.test.ts › left out',
  ]);
});

test('many failing files are not run again', () => {
  for (const name of 'abcdef') given(name, "test('shaky', () => expect(isFirst).toBe(false));");
  const { passed, failures, unsteady } = counts();
  expect([passed, failures.length, unsteady]).toEqual([6, 6, []]);
});

test('an error outside of every test fails the run, also beside a test that would pass alone', () => {
  given('once', "test('shaky', () => expect(isFirst).toBe(false));");
  given('loose', "test('leaves one', () => { Promise.reject(new Error('loose')); });");
  const { passed, failures } = counts();
  expect(passed).toBe(3);
  expect(failures.sort()).toEqual([
    expect.stringMatching(/^once.test.ts › shaky/),
    expect.stringMatching(/^outside of a test\n.*Error: loose/),
  ]);
});
