import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { SlowFirst } from './scripts/slow-first.ts';
import { tagNames } from './scripts/test-tags.ts';
import { COMPILE_CACHE } from './test/support/compile-cache.ts';
import { define } from './vite.config.ts';

/** Needs a process of its own: what other files leave in it, or have made ready, would count. */
const MEASURES_ITSELF = /process\.(memoryUsage|cpuUsage|getActiveResourcesInfo|on\('worker')/;
/** Spends most of its time on programs that it starts. */
const STARTS_PROGRAMS = /'(node:child_process|.*(-fixture|\/repository|\/sandboxes|\/stdio-rig)\.ts)'/;

const filesWith = (pattern: RegExp, files: string): string[] =>
  globSync(files).filter(file => pattern.test(readFileSync(file, 'utf8')));
const alone = filesWith(MEASURES_ITSELF, '{src,web,test}/**/*.test.ts');
const programs = filesWith(STARTS_PROGRAMS, '{src,web}/**/*.test.ts');

/**
 * Files that run with SQLite, and a second time with PostgreSQL: the store, and for each part of the hub the tests whose
 * outcome depends on what is stored when. The core's review loop is here as a whole product, with its deaths.
 */
const ON_BOTH_DATABASES = [
  ...'board-queries inbox messages model pins reports reviews store writer'
    .split(' ')
    .map(name => `src/store/${name}`),
  ...'inbox/inbox runs/last-activity runs/recovery runs/two-way'.split(' ').map(name => `src/core/${name}`),
  ...'chats damaged-run leads limits messages results spawn tell usage-limits waiting'
    .split(' ')
    .map(name => `test/e2e/runs/${name}`),
  ...'answers approvals inbox inbox-deaths inbox-stop'.split(' ').map(name => `test/e2e/inbox/${name}`),
  ...'review-deaths review-loop'.split(' ').map(name => `test/e2e/review/${name}`),
  ...'orphans queued'.split(' ').map(name => `test/faults/${name}`),
];

/** Files that run a second time, with a sandbox for every agent. `npm run test:sandbox` does so with all attacks and faults. */
const SANDBOXED = ['attacks/acting-as-user', 'attacks/token-scan', 'faults/orphans', 'faults/queued'];

interface Files {
  include: string[];
  exclude?: string[];
  isolate: boolean;
  globalSetup?: string[];
  setupFiles?: string[];
  env?: Record<string, string>;
}

const project = (
  name: string,
  { include, exclude = [], isolate, globalSetup = [], setupFiles = [], env = {} }: Files,
) => ({
  // The build writes the version into programs; here it is in no program.
  define: { ...define, SQUAD_VERSION: '"0.0.0-test"' },
  test: {
    name,
    include,
    // Those with the real agent CLIs are in vitest.engines.config.ts.
    exclude: ['test/engines/**/*.engine.test.ts', ...exclude],
    tags: tagNames().map(tag => ({ name: tag })),
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    pool: 'forks' as const,
    globalSetup,
    setupFiles,
    isolate,
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
    // For two processors: a test that starts programs waits for about half of its time.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    projects: [
      // Files take turns in a few processes: a new process for each file would import the same modules again.
      project('unit', {
        include: ['src/**/*.test.ts', 'web/**/*.test.ts'],
        exclude: [...alone, ...programs, 'src/store/postgres/**'],
        isolate: false,
      }),
      project('programs', { include: programs, exclude: alone, isolate: false }),
      project('whole', {
        include: ['test/**/*.test.ts'],
        exclude: [...alone, 'test/web/**', 'test/postgres/**'],
        isolate: false,
      }),
      ...(process.env.SQUAD_TEST_SANDBOX === undefined
        ? [
            project('sandboxed', {
              include: SANDBOXED.map(name => `test/${name}.test.ts`),
              isolate: true,
              env: { SQUAD_TEST_SANDBOX: 'workspace' },
            }),
          ]
        : []),
      // One PostgreSQL server for all of these files, started only for them.
      project('postgres', {
        include: [
          'src/store/postgres/*.test.ts',
          'test/postgres/**/*.test.ts',
          ...ON_BOTH_DATABASES.map(name => `${name}.test.ts`),
        ],
        isolate: false,
        globalSetup: ['test/support/postgres-server.ts'],
        setupFiles: ['test/support/own-databases.ts'],
      }),
      project('alone', { include: alone, isolate: true }),
      // A run with several browsers in one process ended without a word.
      project('web', { include: ['test/web/**/*.test.ts'], isolate: true }),
    ],
  },
});
