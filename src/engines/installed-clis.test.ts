import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { installedClis } from './installed-clis.ts';
import { createProgramVersions } from './program-versions.ts';
import { isOlder, versionIn } from './version.ts';

let folder: string;
let cache: string;
let asked: string;
const env = () => ({ PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: folder });
const clis = () => installedClis(createProgramVersions(cache));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'squad-clis-'));
  mkdirSync(join(folder, 'bin'));
  cache = join(folder, 'cache', 'versions.json');
  asked = join(folder, 'asked');
  writeFileSync(asked, '');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A program that says it is this version, and leaves a line each time it is asked. */
function program(name: string, says: string): string {
  const path = join(folder, 'bin', name);
  writeFileSync(path, `#!/bin/sh\necho "$*" >> '${asked}'\necho '${says}'\n`);
  chmodSync(path, 0o755);
  return path;
}
const timesAsked = () => readFileSync(asked, 'utf8').split('\n').length - 1;

describe('looking for agent CLIs', () => {
  test('finds those in the PATH that was handed down, in the order of preference', async () => {
    const codex = program('codex', 'codex-cli 0.166.0');
    const claude = program('claude', '2.1.325 (Claude Code)');
    expect(await clis().installed(env())).toEqual([
      { cli: 'claude', program: claude, version: '2.1.325', warning: null },
      { cli: 'codex', program: codex, version: '0.166.0', warning: null },
    ]);
    expect(readFileSync(asked, 'utf8')).toBe('--version\n--version\n');
  });

  test('finds nothing without a PATH, not even in the current folder', async () => {
    expect(await clis().installed({ HOME: folder })).toEqual([]);
  });

  test('knows a CLI by the path of its program', { tags: ['A7'] }, async () => {
    const path = program('claude', '2.1.325');
    expect(await clis().find(path, { PATH: '/nowhere' })).toMatchObject({ cli: 'claude', program: path });
    expect(await clis().find('some-other-agent', env())).toBeNull();
  });

  test('knows a CLI by the names that packages and vendors give it', { tags: ['A7'] }, async () => {
    for (const name of ['claude', 'codex', 'gemini', 'copilot', 'cursor-agent']) program(name, '99.0.0');
    const found = async (name: string) => (await clis().find(name, env()))?.cli;
    expect(await found('claude-code')).toBe('claude');
    expect(await found('claude-code-cli')).toBe('claude');
    expect(await found('codex-cli')).toBe('codex');
    expect(await found('openai-codex-cli')).toBe('codex');
    expect(await found('gemini-cli')).toBe('gemini');
    expect(await found('copilot-cli')).toBe('copilot');
    expect(await found('cursor-agent')).toBe('cursor');
  });

  test('says what to install when the program is not there', async () => {
    await expect(clis().find('codex', env())).rejects.toMatchObject({
      code: 'ENGINE_NOT_FOUND',
      suggestions: [expect.stringContaining('npm install -g @openai/codex'), expect.stringContaining(folder)],
    });
  });

  test('refuses a version that is too old, and warns of one that is newer than the tested', async () => {
    program('claude', '2.0.9 (Claude Code)');
    await expect(clis().find('claude', env())).rejects.toMatchObject({
      code: 'ENGINE_TOO_OLD',
      suggestions: ['Update it: npm install -g @anthropic-ai/claude-code'],
    });
    program('codex', 'codex-cli 99.0.0');
    expect(await clis().find('codex', env())).toMatchObject({
      version: '99.0.0',
      warning: expect.stringContaining('newer than'),
    });
  });

  test('goes on without a version when the program does not say one', async () => {
    program('qwen', 'hello');
    expect(await clis().find('qwen', env())).toMatchObject({
      version: null,
      warning: expect.stringContaining('does not say'),
    });
  });
});

describe('remembering versions', () => {
  test('asks a program once, also across restarts, and again when its file has changed', async () => {
    const path = program('codex', 'codex-cli 0.166.0');
    await clis().installed(env());
    await clis().installed(env());
    expect(timesAsked()).toBe(1);
    appendFileSync(path, '# changed\n');
    await clis().installed(env());
    expect(timesAsked()).toBe(2);
  });

  test('two questions at the same time ask the program once', async () => {
    program('codex', 'codex-cli 0.166.0');
    const both = clis();
    await Promise.all([both.find('codex', env()), both.find('codex', env())]);
    expect(timesAsked()).toBe(1);
  });

  test('asks again when the memory is damaged', async () => {
    program('codex', 'codex-cli 0.166.0');
    await clis().installed(env());
    writeFileSync(cache, '{"half": ');
    expect(await clis().find('codex', env())).toMatchObject({ version: '0.166.0' });
    writeFileSync(cache, '{"x": 3}');
    expect(await clis().find('codex', env())).toMatchObject({ version: '0.166.0' });
    expect(timesAsked()).toBe(3);
  });

  test('a program that gave no answer is waited for once, and again when its file has changed', async () => {
    const path = program('codex', '');
    appendFileSync(path, 'exec sleep 600\n');
    const patient = installedClis(createProgramVersions(cache, { waitMs: 500, giveUpMs: 2_000 }));
    for (let spawn = 0; spawn < 3; spawn++)
      expect(await patient.find('codex', env())).toMatchObject({ version: null });
    expect(timesAsked()).toBe(1);
    program('codex', 'codex-cli 0.166.0');
    expect(await patient.find('codex', env())).toMatchObject({ version: '0.166.0' });
  });

  test('an answer that comes late counts for the next run', async () => {
    const path = program('codex', '');
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    appendFileSync(path, `cat '${pipe}'\n`);
    const busy = installedClis(createProgramVersions(cache, { waitMs: 1, giveUpMs: 60_000 }));
    expect(await busy.find('codex', env())).toMatchObject({ version: null });
    writeFileSync(pipe, 'codex-cli 0.166.0\n');
    await expect.poll(() => busy.find('codex', env())).toMatchObject({ version: '0.166.0' });
    expect(timesAsked()).toBe(1);
  });

  test('that it gave no answer is forgotten with the hub', async () => {
    program('codex', '');
    await clis().installed(env());
    await clis().installed(env());
    expect(timesAsked()).toBe(2);
  });
});

test.each([
  ['codex-cli 0.166.0', '0.166.0'],
  ['2.1.325 (Claude Code)', '2.1.325'],
  ['v1.2', '1.2'],
  ['no version here', null],
])('the version in %j is %j', (said, version) => expect(versionIn(said)).toBe(version));

test.each([
  ['1.9', '1.10', true],
  ['1.10', '1.9', false],
  ['2.1.197', '2.1.197', false],
  ['2.1', '2.1.1', true],
])('%s older than %s: %s', (a, b, older) => expect(isOlder(a, b)).toBe(older));
