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
    ['2025-11-25', 30],
    ['2026-07-28', 37],
  ])(
    'passes everything revision %s requires of a server',
    { timeout: 180_000 },
    async (revision, required) => {
      const { exitCode, output } = await run(['server', '--url', fixture.url, '--requirements', revision]);
      const scenarios = scored(output);
      expect(scenarios.filter(scenario => scenario.failed > 0 || !scenario.ok)).toEqual([]);
      expect(scenarios.every(scenario => scenario.passed > 0)).toBe(true);
      expect(scenarios).toHaveLength(required);
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

/** The summary's lines, without those the runner itself says do not count. */
function scored(output: string) {
  const unscored = new Set(Array.from(output.matchAll(/^ {2}[✓✗] (\S+) \(/gm), ([, name]) => name));
  return Array.from(
    output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm),
    ([, mark, name, passed, failed]) => ({
      name,
      ok: mark === '✓',
      passed: Number(passed),
      failed: Number(failed),
    }),
  ).filter(({ name }) => !unscored.has(name));
}
