/** The test command: what tests need is there, the code is clean, every test passes. Ends with `N passed, N failed`. */
import { newSeed } from '../test/faults/random.ts';
import { USUAL_CLIS } from './engine-clis.ts';
import { ensurePrograms } from './programs.ts';
import { type Counts, runCommand, runVitest, runVitestPatiently } from './run-vitest.ts';
import { tell } from './tell-counts.ts';
import { runEngineTests } from './test-engines.ts';

const given = process.argv.slice(2);
ensurePrograms(['git', 'tmux', 'chromium', 'bubblewrap', 'openssh-server']);

// A fault that is looked at again must be the same fault.
process.env.SQUAD_FAULT_SEED ??= String(newSeed());
process.exit(tell(given.length > 0 ? [await runVitest(given)] : await everything()));

async function everything(): Promise<Counts[]> {
  // Tests wait a lot: the checks take the time that they leave.
  const [checked, tested] = await Promise.all([checks(), runVitestPatiently([])]);
  return [checked, tested, await runEngineTests(USUAL_CLIS)];
}

/** The tools that look at the code, one after the other. */
async function checks(): Promise<Counts> {
  const failures: string[] = [];
  for (const command of [
    ['biome', 'check', '.'],
    ['tsc', '-p', 'tsconfig.json'],
    ['tsc', '-p', 'web/tsconfig.json'],
    ['knip'],
  ])
    if ((await runCommand(command, { isQuiet: true })) !== 0)
      failures.push(`${command.join(' ')} (npm run fix repairs what can be fixed automatically)`);
  return { passed: 0, failures, unsteady: [], files: [] };
}
