import type { z } from 'zod';
import type { inspectWorkspace } from '../operations/inspect-workspace.ts';
import type { CliContext } from './context.ts';
import { HubClient } from './hub-client.ts';

export type Inspected = z.output<typeof inspectWorkspace.output>;

/** One of its settings, with where it came from. */
export const settingOf = ({ settings }: Inspected, key: string): Inspected['settings'][number] | undefined =>
  settings.find(setting => setting.key === key);

/** The workspace as the hub sees it for this terminal. */
export async function inspect({ workspace }: CliContext): Promise<Inspected> {
  const client = await HubClient.start({ workspace });
  return client.call<Inspected>('inspect_workspace').finally(() => client.close());
}
