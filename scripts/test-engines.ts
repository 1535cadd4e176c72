/**
 * Runs the tests with the real agent CLIs: `npm run test:engines -- [--all] [names…] [vitest's arguments]`. Installs
 * the CLIs first. After that everything (tests, model server, hub, agents) runs with only a loopback network.
 */
import { CHOSEN_CLIS } from '../test/engines/chosen-clis.ts';
import { inNamespace } from '../test/engines/namespace.ts';
import { ALL_CLIS, type CliName, installCli, USUAL_CLIS } from './engine-clis.ts';
import { type Counts, runVitestPatiently } from './run-vitest.ts';
import { tell } from './tell-counts.ts';

export async function runEngineTests(
  names: CliName[],
  { more = [], isQuiet }: { more?: string[]; isQuiet?: boolean } = {},
): Promise<Counts> {
  try {
    for (const name of names) await installCli(name);
    return await runVitestPatiently(['--config', 'vitest.engines.config.ts', ...more], {
      wrap: inNamespace,
      env: { [CHOSEN_CLIS]: names.join(',') },
      isQuiet,
    });
  } catch (error) {
    const why = `The tests with the real agent CLIs did not run: ${(error as Error).message}`;
    return { passed: 0, failures: [why], unsteady: [], files: [] };
  }
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const named = ALL_CLIS.filter(name => given.includes(name));
  const usual = given.includes('--all') ? ALL_CLIS : USUAL_CLIS;
  const more = given.filter(word => word !== '--all' && !named.includes(word as CliName));
  process.exitCode = tell([await runEngineTests(named.length > 0 ? named : usual, { more })]);
}
