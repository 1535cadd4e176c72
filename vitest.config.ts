import { defineConfig } from 'vitest/config';
import { tagNames } from './scripts/test-tags.ts';
import { COMPILE_CACHE } from './test/support/compile-cache.ts';
import { define } from './vite.config.ts';

export default defineConfig({
  // The build writes the version into programs; here it is in no program.
  define: { ...define, SQUAD_VERSION: '"0.0.0-test"' },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
    // These need the real agent CLIs; see vitest.engines.config.ts.
    exclude: ['test/engines/**/*.engine.test.ts'],
    tags: tagNames().map(name => ({ name })),
    globalSetup: ['test/support/build-once.ts'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Whoever polls waits for something to happen, not for how fast it does.
    expect: { poll: { timeout: 20_000 } },
    // A test that leaks a process or a timer must show, not be cut off.
    teardownTimeout: 10_000,
  },
});
