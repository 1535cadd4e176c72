import type { Caller } from '../core/ports/workspace.ts';
import type { Operation } from '../operations/operation.ts';
import type { RunId } from '../schema/ids.ts';
import { HttpProblem } from './problem.ts';
import type { Errand } from './tickets.ts';

const PURPOSES = ['live', 'download', 'export'] as const;
type Purpose = (typeof PURPOSES)[number];

type Ask = (operation: string, input: unknown) => Promise<unknown>;

/** What each kind of ticket may be asked with; nothing else is kept for anybody. */
const FIELDS: Readonly<Record<Purpose, readonly string[]>> = {
  live: [],
  download: ['run', 'turn', 'stream'],
  export: ['run'],
};

/** What a body of `POST /api/ticket` asks for; a run is looked for now, so that who asks is told if there is none. */
export async function errandOf(
  body: Record<string, unknown>,
  { caller, session }: { caller: Caller; session: string | null },
  ask: Ask,
): Promise<Errand> {
  const { purpose: wanted, ...rest } = body;
  const purpose = PURPOSES.find(each => each === wanted);
  if (!purpose) throw new HttpProblem(400, 'INVALID_INPUT', 'purpose is live, download or export');
  const stray = Object.keys(rest).find(field => !FIELDS[purpose].includes(field));
  if (stray !== undefined)
    throw new HttpProblem(400, 'INVALID_INPUT', `A ticket for ${purpose} takes no ${stray.slice(0, 40)}`);
  if (purpose === 'live') return { purpose, session };
  if (purpose === 'export') {
    const { run } = (await ask('show_run', rest)) as { run: { id: RunId } };
    return { purpose, runId: run.id, caller };
  }
  const found = (await ask('read_output', { ...rest, limit: 1 })) as OutputFound;
  if (found.turn > found.lastTurn)
    throw new HttpProblem(404, 'INVALID_INPUT', `${found.runId} has no turn ${found.turn}`, [
      `Its last is ${found.lastTurn}.`,
    ]);
  const { runId, turn } = found;
  return { purpose, runId, turn, stream: rest.stream === 'stderr' ? 'stderr' : 'stdout' };
}

interface OutputFound {
  runId: RunId;
  turn: number;
  lastTurn: number;
}

export const named = (operations: readonly Operation[], name: string): Operation =>
  operations.find(operation => operation.name === name)!;
