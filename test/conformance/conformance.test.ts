import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveFixture } from './fixture.ts';

const RUNNER = fileURLToPath(new URL('../../node_modules/.bin/conformance', import.meta.url));
let fixture: Awaited<ReturnType<typeof serveFixture>>;

beforeAll(async () => {
  fixture = await serveFixture();
});
afterAll(() => fixture.close());

describe('the official conformance suite', () => {
  it.each([
    ['2025-11-25', 30, 0],
    // The runner has a tenth scenario for tasks, without a check in it.
    ['2026-07-28', 37, 9],
  ])(
    'passes everything revision %s requires of a server, and what it knows about tasks',
    { timeout: 180_000 },
    async (revision, required, aboutTasks) => {
      const { exitCode, output } = await run(['server', '--url', fixture.url, '--requirements', revision]);
      const { scored, unscored } = scenariosIn(output);
      const tasks = unscored.filter(({ name, passed }) => name.startsWith('tasks-') && passed > 0);
      expect([...scored, ...tasks].filter(scenario => scenario.failed > 0 || !scenario.ok)).toEqual([]);
      expect(scored.every(scenario => scenario.passed > 0)).toBe(true);
      expect([scored.length, tasks.length]).toEqual([required, aboutTasks]);
      expect(exitCode, output).toBe(0);
    },
  );
});

function run(args: string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      [RUNNER, ...args],
      { maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}

/** The summary's lines; the runner itself says which do not count. */
function scenariosIn(output: string) {
  const notCounted = new Set(Array.from(output.matchAll(/^ {2}[✓✗] (\S+) \(/gm), ([, name]) => name));
  const all = Array.from(
    output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm),
    ([, mark, name, passed, failed]) => ({
      name: name!,
      ok: mark === '✓',
      passed: Number(passed),
      failed: Number(failed),
    }),
  );
  return {
    scored: all.filter(({ name }) => !notCounted.has(name)),
    unscored: all.filter(({ name }) => notCounted.has(name)),
  };
}
