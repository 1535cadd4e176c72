import type { RunError } from '../../schema/run.ts';
import type { HubClient } from '../hub-client.ts';
import type { Logins } from './next-step.ts';

/** How to log in to the engines that say nobody is; asked for only then. */
export async function loginHints(client: HubClient, errors: (RunError | null)[]): Promise<Logins> {
  if (!errors.some(error => error?.code === 'ENGINE_NOT_LOGGED_IN')) return new Map();
  const { engines } = await client.call('inspect_engines', {
    look: false,
  });
  return new Map(engines.map(({ id, login }) => [id, login]));
}
