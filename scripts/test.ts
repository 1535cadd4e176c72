/** The test command: what tests need is there, the code is clean, every test passes. Ends with `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { newSeed } from '../test/faults/random.ts';
import { USUAL_CLIS } from './engine-clis.ts';
import { ensurePrograms } from './programs.ts';
import { type Counts, runVitest, runVitestPatiently } from './run-vitest.ts';
import { tell } from './tell-counts.ts';
import { runEngineTests } from './test-engines.ts';

const given = process.argv.slice(2);
ensurePrograms(['git', 'tmux', 'chromium', 'bubblewrap']);

// A fault that is looked at again must be the same fault.
process.env.SQUAD_FAULT_SEED ??= String(newSeed());
process.exit(tell(given.length > 0 ? [runVitest(given)] : await everything()));

async function everything(): Promise<Counts[]> {
  const checked: Counts = { passed: 0, failures: checks(), unsteady: [] };
  return [checked, runVitestPatiently([]), await runEngineTests(USUAL_CLIS)];
}

/** Which of the tools that look at the code found something. */
function checks(): string[] {
  return [
    ['biome', 'check', '.'],
    ['tsc', '-p', 'tsconfig.json'],
    ['tsc', '-p', 'web/tsconfig.json'],
    ['knip'],
  ]
    .filter(([program, ...args]) => spawnSync(program!, args, { stdio: 'inherit' }).status !== 0)
    .map(command => `${command.join(' ')} (npm run fix repairs what can be fixed automatically)`);
}
