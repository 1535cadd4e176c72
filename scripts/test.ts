/** The test command: installs missing programs, runs the checks and every test, and ends with `N passed, N failed`. */
import { newSeed } from '../test/faults/random.ts';
import { ensureBuilt } from '../test/support/build-once.ts';
import { USUAL_CLIS } from './engine-clis.ts';
import { ensurePrograms } from './programs.ts';
import { type Counts, runCommand, runVitest, runVitestPatiently } from './run-vitest.ts';
import { tell } from './tell-counts.ts';
import { runEngineTests } from './test-engines.ts';

const given = process.argv.slice(2);
ensurePrograms(['git', 'tmux', 'chromium', 'chromium-headless-shell', 'bubblewrap', 'openssh-server']);

// The seed is fixed for this process, so that a failed round can be repeated.
process.env.SQUAD_FAULT_SEED ??= String(newSeed());
process.exit(tell(given.length > 0 ? [await runVitest(given)] : await everything()));

async function everything(): Promise<Counts[]> {
  // Built here, because otherwise both runs of Vitest would build at the same time.
  ensureBuilt();
  // Tests wait a lot, so the others use the time that they leave.
  return Promise.all([checks(), runVitestPatiently([]), runEngineTests(USUAL_CLIS, { isQuiet: true })]);
}

/** Runs the tools of `npm run check` one after another. */
async function checks(): Promise<Counts> {
  const failures: string[] = [];
  for (const command of [
    ['biome', 'check', '.'],
    ['tsc', '-p', 'tsconfig.json'],
    ['tsc', '-p', 'web/tsconfig.json'],
    ['knip'],
    ['node', 'scripts/check-words.ts'],
  ])
    if ((await runCommand(command, { isQuiet: true })) !== 0)
      failures.push(`${command.join(' ')} (npm run fix repairs what can be fixed automatically)`);
  return { passed: 0, failures, unsteady: [], files: [] };
}
