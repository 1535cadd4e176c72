/** The test command: what tests need is there, the code is clean, every test passes. Ends with `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { USUAL_CLIS } from './engine-clis.ts';
import { ensurePrograms } from './programs.ts';
import { runVitest } from './run-vitest.ts';
import { runEngineTests } from './test-engines.ts';

const given = process.argv.slice(2);
ensurePrograms(['git', 'tmux', 'chromium', 'bubblewrap']);

const everything = given.length === 0;
const found = everything ? checks() : 0;
const runs = [runVitest(given), ...(everything ? [await runEngineTests(USUAL_CLIS)] : [])];
const passed = runs.reduce((sum, run) => sum + run.passed, 0);
const failed = runs.reduce((sum, run) => sum + run.failed, found);
for (const failure of runs.flatMap(run => run.failures)) console.log(`\nfailed: ${failure}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);

/** How many of the tools that look at the code found something. */
function checks(): number {
  let found = 0;
  for (const [program, ...args] of [
    ['biome', 'check', '.'],
    ['tsc', '-p', 'tsconfig.json'],
    ['tsc', '-p', 'web/tsconfig.json'],
    ['knip'],
  ])
    if (spawnSync(program!, args, { stdio: 'inherit' }).status !== 0) {
      console.error(
        `\n${program} found something; see above (npm run fix mends what can be mended by itself)`,
      );
      found++;
    }
  return found;
}
