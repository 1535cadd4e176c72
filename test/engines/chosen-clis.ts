import type { CliName } from '../../scripts/engine-clis.ts';

export const CHOSEN_CLIS = 'SQUAD_TEST_CLIS';

/** Which CLIs this run of the tests is for. They are installed already. */
export function chosenClis(): CliName[] {
  const names = process.env[CHOSEN_CLIS];
  if (!names)
    throw new Error('these tests need the agent CLIs and no network: start them with `npm run test:engines`');
  return names.split(',') as CliName[];
}
