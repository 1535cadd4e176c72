import type { Output } from '../../operations/operations.ts';
import type { CliContext } from '../context.ts';
import { HubClient } from '../hub-client.ts';

export type Inspected = Output<'inspect_workspace'>;

export const settingOf = ({ settings }: Inspected, key: string): Inspected['settings'][number] | undefined =>
  settings.find(setting => setting.key === key);

/** Inspects the workspace with the environment of this terminal. */
export async function inspect({ workspace }: CliContext): Promise<Inspected> {
  return HubClient.ask({ workspace }, 'inspect_workspace');
}
