import type { Run } from '../../schema/run.ts';

/** The client that asked for a cancel. */
export interface Canceller {
  /** A client by its name, a run by its id. */
  name: string;
  /** The workspace it works in; null: not known, or no matter. */
  folder: string | null;
}

const NAMES: Readonly<Record<string, string>> = { terminal: 'a terminal', page: 'the web UI' };

/** The note in the result of a cancelled run. */
export function cancelNote({ name, folder }: Canceller, { workspace }: Pick<Run, 'workspace'>): string {
  const where = folder === null || folder === workspace ? '' : ` in ${folder}`;
  return `Cancelled by ${NAMES[name] ?? name}${where}.`;
}
