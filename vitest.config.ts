import { defineConfig } from 'vitest/config';
import { tagNames } from './scripts/test-tags.ts';
import { COMPILE_CACHE } from './test/support/compile-cache.ts';
import { define } from './vite.config.ts';

const tests = (name: string, include: string[]) => ({
  // The build writes the version into programs; here it is in no program.
  define: { ...define, SQUAD_VERSION: '"0.0.0-test"' },
  test: {
    name,
    include,
    // These need the real agent CLIs; see vitest.engines.config.ts.
    exclude: ['test/engines/**/*.engine.test.ts'],
    tags: tagNames().map(tag => ({ name: tag })),
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    pool: 'forks' as const,
    // Files take turns in a few processes: a new process for each file would import the same modules again.
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Whoever polls waits for something to happen, not for how fast it does.
    expect: { poll: { timeout: 60_000 } },
    // A test that leaks a process or a timer must show, not be cut off.
    teardownTimeout: 10_000,
  },
});

export default defineConfig({
  test: {
    globalSetup: ['test/support/build-once.ts'],
    maxWorkers: 3,
    projects: [
      tests('unit', ['src/**/*.test.ts', 'web/**/*.test.ts']),
      tests('whole', ['test/**/*.test.ts']),
    ],
  },
});
