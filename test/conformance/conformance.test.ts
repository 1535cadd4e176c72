import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveFixture } from './fixture.ts';
import { conformance } from './runner.ts';

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
    { tags: ['R1', 'dns-rebinding-and-foreign-origins'], timeout: 180_000 },
    async (revision, required, aboutTasks) => {
      const { exitCode, output, scored, unscored } = await conformance(fixture.url, revision);
      const tasks = unscored.filter(({ name, passed }) => name.startsWith('tasks-') && passed > 0);
      expect([...scored, ...tasks].filter(scenario => scenario.failed > 0 || !scenario.ok)).toEqual([]);
      expect(scored.every(scenario => scenario.passed > 0)).toBe(true);
      expect([scored.length, tasks.length]).toEqual([required, aboutTasks]);
      expect(exitCode, output).toBe(0);
    },
  );
});
