import { defineConfig } from 'vitest/config';
import { SlowFirst } from './scripts/slow-first.ts';
import { tagNames } from './scripts/test-tags.ts';
import { COMPILE_CACHE } from './test/support/compile-cache.ts';

/** The tests that run the real agent CLIs; `npm run test:engines` puts the CLIs there and starts this without a network. */
export default defineConfig({
  test: {
    include: ['test/engines/**/*.engine.test.ts'],
    tags: tagNames().map(name => ({ name })),
    globalSetup: ['test/support/build-once.ts'],
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
    testTimeout: 300_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
});
