import type { Run } from '../schema/run.ts';

/** Who wants a run cancelled. */
export interface Canceller {
  /** A client by its name, a run by its id. */
  name: string;
  /** The workspace it works in; null: not known, or no matter. */
  folder: string | null;
}

const NAMES: Readonly<Record<string, string>> = { terminal: 'a terminal', page: 'the web UI' };

/** What the result of a cancelled run says about it. */
export function cancelNote({ name, folder }: Canceller, { workspace }: Pick<Run, 'workspace'>): string {
  const where = folder === null || folder === workspace ? '' : ` in ${folder}`;
  return `Cancelled by ${NAMES[name] ?? name}${where}.`;
}
