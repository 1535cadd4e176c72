import { z } from 'zod';
import type { OtherHub } from '../../core/ports/store.ts';
import { didYouMean } from '../../core/text.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId, SquadId } from '../../schema/ids.ts';
import { isEnd, type Run, ShownRun, type Squad, shownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type AgentStore, operation, type Services } from '../operation.ts';

/**
 * Whether to find also runs of other hubs that use the same database. Their processes and files are not here, so only
 * their rows can be read.
 */
type Hubs = 'own' | 'any';

/** Finds a run by its id or a unique prefix. Returns the live object of a run that has not ended. */
export async function findRun(
  { store, runner }: Pick<Services, 'store' | 'runner'>,
  given: string,
  hubs: Hubs = 'own',
): Promise<Run> {
  const id = RunId.safeParse(given).success ? given : await expand(store, given, 'run');
  const current = runner.current(id as RunId);
  if (current) return current;
  const run = await store.run(id as RunId);
  if (!run) throw await unknown(store, given, 'run');
  if (hubs === 'own') await refuseElsewhere(store, run.id);
  return run;
}

/**
 * RUN_ELSEWHERE for a run of another hub. `dispatch` then has that hub carry out the operation. Operations throw it
 * before they change anything.
 */
export class RunElsewhere extends SquadError {
  readonly runId: RunId;
  readonly hub: OtherHub;

  constructor(runId: RunId, hub: OtherHub, why = '') {
    super('RUN_ELSEWHERE', `Run ${runId} belongs to the hub of ${hub.home} on ${hub.host}${why}`, {
      suggestions: [`Use Squad on ${hub.host} with SQUAD_HOME=${shellWord(hub.home)}.`],
    });
    this.runId = runId;
    this.hub = hub;
  }
}

/** Throws RUN_ELSEWHERE for a run of another hub. */
export async function refuseElsewhere(store: Pick<AgentStore, 'otherOwner'>, id: RunId): Promise<void> {
  const hub = await store.otherOwner(id);
  if (hub) throw new RunElsewhere(id, hub);
}

interface FoundSquad {
  squad: Squad;
  /** Runs of the squad, in member order. */
  runs: Run[];
}

export async function findSquad(
  { store, runner }: Pick<Services, 'store' | 'runner'>,
  given: string,
  hubs: Hubs = 'own',
): Promise<FoundSquad> {
  const id = (SquadId.safeParse(given).success ? given : await expand(store, given, 'squad')) as SquadId;
  const squad = await store.squad(id);
  if (!squad) throw await unknown(store, given, 'squad');
  const rows = await store.runs({ squadId: id, limit: 100_000 });
  if (hubs === 'own' && rows[0] && !runner.current(rows[0].id)) await refuseElsewhere(store, rows[0].id);
  return { squad, runs: await Promise.all(rows.map(row => currentRun({ store, runner }, row))) };
}

/** Finds a run or a squad by its id or a unique prefix. `squad` is absent if the id belongs to a run. */
export async function findRunOrSquad(
  services: Pick<Services, 'store' | 'runner'>,
  given: string,
  hubs: Hubs = 'own',
): Promise<{ squad: Squad | null; runs: Run[] }> {
  const id = /^(run|squad)_/.test(given) ? given : await expand(services.store, given, 'run or squad');
  if (id.startsWith('squad_')) return findSquad(services, id, hubs);
  return { squad: null, runs: [await findRun(services, id, hubs)] };
}

type Kind = 'run' | 'squad' | 'run or squad';

/**
 * The current state of a run: from the runner if it has not ended, otherwise read again, because the row may be
 * outdated.
 */
export async function currentRun(
  { store, runner }: Pick<Services, 'store' | 'runner'>,
  row: Run,
): Promise<Run> {
  if (isEnd(row.status)) return row;
  return runner.current(row.id) ?? (await store.run(row.id)) ?? row;
}

async function expand(store: AgentStore, given: string, kind: Kind): Promise<string> {
  const bare = given.replace(/^(run|squad)_/, '');
  const prefix = kind === 'run or squad' ? bare : `${kind}_${bare}`;
  const matches = /^[0-9a-z]+$/.test(bare)
    ? (await store.idsLike(prefix, 5)).filter(id => isOf(kind, id))
    : [];
  if (matches.length === 1) return matches[0]!;
  if (matches.length === 0) throw await unknown(store, given, kind);
  throw new SquadError(codeOf(kind), `${given} matches several ids: ${matches.join(', ')}`, {
    suggestions: ['Give more characters of the id.'],
  });
}

async function unknown(store: AgentStore, given: string, kind: Kind): Promise<SquadError> {
  const [recent, alike] = await Promise.all([
    store.recentIds(MAX_TRIED),
    store.idsLike(beginning(given), MAX_TRIED),
  ]);
  const isWhole = kind === 'run or squad' || /^(run|squad)_/.test(given);
  const meant = didYouMean(
    isWhole ? given : `${kind}_${given}`,
    [...recent, ...alike].filter(id => isOf(kind, id)),
  );
  return new SquadError(codeOf(kind), `There is no ${kind} ${given}`, {
    suggestions: meant
      ? [meant]
      : [
          ...(await newest(store, kind)),
          '`squad ls` in a terminal, or list_running {"recent": true}, lists the runs.',
        ],
  });
}

async function newest(store: AgentStore, kind: Kind): Promise<string[]> {
  const runs = await store.runs({ limit: MAX_NEWEST });
  const named = runs.map(
    run =>
      `${kind === 'squad' ? run.squadId : run.id} (${runName(run)}, ${shownStatus(run)}, in ${run.workspace})`,
  );
  return named.length === 0 ? [] : [`The newest: ${[...new Set(named)].join(', ')}.`];
}

const MAX_NEWEST = 3;

const MAX_TRIED = 200;

/** The first half of an id, for suggestions: it may be right even if the second half is mistyped. */
function beginning(given: string): string {
  const [, tag = '', letters = ''] = /^((?:run|squad)_)?([0-9a-z]*)/.exec(given) ?? [];
  return tag + letters.slice(0, Math.max(2, Math.floor(letters.length / 2)));
}

const isOf = (kind: Kind, id: string) => kind === 'run or squad' || id.startsWith(kind);
const codeOf = (kind: Kind) => (kind === 'squad' ? 'SQUAD_UNKNOWN' : 'RUN_UNKNOWN');

/** The runs that these ids or prefixes name, with all members of squads; each run once. */
export const findRuns = operation({
  name: 'find_runs',
  route: 'GET /find',
  agents: 'spawn',
  input: z.strictObject({ ids: z.array(z.string().min(1)).min(1).max(1000) }),
  output: z.object({ runs: z.array(ShownRun) }),
  async run({ services }, { ids }) {
    const found = await Promise.all(ids.map(id => findRunOrSquad(services, id, 'any')));
    const runs = new Map(found.flatMap(each => each.runs).map(run => [run.id, shownRun(run)]));
    return { runs: [...runs.values()] };
  },
});
