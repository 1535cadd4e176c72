import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SandboxLevel } from '../../src/schema/sandbox.ts';

/** Sandbox of every run of a test whose call and role name none. Null: as users have it without settings. */
export const TEST_SANDBOX = SandboxLevel.nullable().parse(process.env.SQUAD_TEST_SANDBOX ?? null);

/** Whether agents of tests are in a sandbox unless something asks for another. */
export const IS_SANDBOXED = TEST_SANDBOX !== null && TEST_SANDBOX !== 'off';

/** Writes the user's settings for tests that run with a sandbox. */
export function confineByDefault(home: string, level = TEST_SANDBOX): void {
  if (level === null) return;
  const folder = join(home, '.config', 'squad');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ sandbox: level }));
}

/** For tests of attacks that a sandbox does not leave room for: their agents need files of Squad, or the hub's socket. */
export const withoutSandbox = ({ env }: { env: Record<string, string> }): void =>
  confineByDefault(env.HOME!, 'off');
