import type { BoardFilter, EndedFilter } from '../../core/ports/board-store.ts';
import type { BoardPage } from '../../core/runs/board-pages.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { Need } from '../../schema/run-card.ts';
import type { UserServices } from '../operation.ts';

export type LiveNeed = keyof BoardPage['live'];

interface Asked {
  filter: BoardFilter;
  /** Only these. */
  status: Need[] | undefined;
  cursor: string | undefined;
  limit: number;
  live: Record<LiveNeed, Run[]>;
}

/** Where in the list somebody is: how many of a part of the live runs were shown, or the last ended run that was. */
interface Place {
  need: Need;
  shown?: number;
  after?: Pick<Run, 'createdAt' | 'id'>;
}

/**
 * One page of the list as it was when its first page was asked for. Runs go on meanwhile, so those that had not ended then
 * are remembered: none of them is passed over because it moved up, or shown twice because it moved down.
 */
export async function pageOf(
  services: UserServices,
  asked: Asked,
): Promise<{ runs: Run[]; next: string | null }> {
  const { boards } = services;
  const { cursor, limit } = asked;
  const resumed = cursor === undefined ? null : resume(services, asked, cursor);
  const page = resumed?.page ?? begin(services, asked);
  const taken: { run: Run; place: Place }[] = [];
  for await (const each of walk(services, asked, page, resumed?.place ?? { need: 'needs_you' })) {
    taken.push(each);
    if (taken.length > limit) break;
  }
  const shown = taken.slice(0, limit);
  const isLast = taken.length <= limit;
  return {
    runs: shown.map(({ run }) => run),
    next: isLast ? null : written(resumed?.name ?? boards.keep(page), shown.at(-1)!.place),
  };
}

function begin({ clock }: UserServices, asked: Asked): BoardPage {
  const idsOf = (runs: Run[]) => runs.map(({ id }) => id);
  const { needs_you, running, queued } = asked.live;
  return {
    asked: whatOf(asked),
    at: clock.now(),
    live: { needs_you: idsOf(needs_you), running: idsOf(running), queued: idsOf(queued) },
  };
}

async function* walk(
  services: UserServices,
  { filter, status, limit }: Asked,
  page: BoardPage,
  from: Place,
): AsyncGenerator<{ run: Run; place: Place }> {
  const { store, runner } = services;
  const live = new Set(Object.values(page.live).flat());
  for (const need of Need.options.slice(Need.options.indexOf(from.need))) {
    if (status && !status.includes(need)) continue;
    const place: Place = need === from.need ? from : { need };
    if (need === 'failed' || need === 'done') {
      const part = partOf(need, status);
      let { after } = place;
      for (;;) {
        const some = await store.endedRuns({ ...filter, part, at: page.at, after, limit: limit + 1 });
        for (const run of some) if (!live.has(run.id)) yield { run, place: { need, after: run } };
        if (some.length <= limit) break;
        after = some.at(-1)!;
      }
    } else {
      for (const [i, id] of page.live[need].entries()) {
        if (i < (place.shown ?? 0)) continue;
        const run = runner.current(id) ?? (await store.run(id));
        if (run) yield { run, place: { need, shown: i + 1 } };
      }
    }
  }
}

function partOf(need: 'failed' | 'done', status: Need[] | undefined): EndedFilter['part'] {
  const isEver = status?.includes('failed') === true;
  if (need === 'failed') return isEver ? 'failed_ever' : 'failed';
  return isEver ? 'never_failed' : 'done';
}

function resume(
  { boards }: UserServices,
  asked: Asked,
  cursor: string,
): { name: string; page: BoardPage; place: Place } {
  const [name = '', given, position = ''] = cursor.split('.');
  const page = boards.find(name);
  const need = Need.safeParse(given).data;
  if (!page || !need)
    throw refusal(
      'That place in the list is not known any more: too many others were asked for since, or the hub was restarted',
    );
  if (page.asked !== whatOf(asked)) throw refusal('That is a place in another list than the one asked for');
  if (need !== 'failed' && need !== 'done')
    return { name, page, place: { need, shown: Number(position) || 0 } };
  const [createdAt, id] = position.split('-');
  const after = { createdAt: Number(createdAt), id: RunId.safeParse(id).data };
  if (!Number.isFinite(after.createdAt) || after.id === undefined)
    throw refusal('That is no place in a list');
  return { name, page, place: { need, after: { ...after, id: after.id } } };
}

const written = (name: string, { need, shown, after }: Place): string =>
  `${name}.${need}.${after ? `${after.createdAt}-${after.id}` : shown}`;

const whatOf = ({ filter: { workspace, squadId, q }, status }: Asked): string =>
  JSON.stringify([workspace, squadId, q, status]);

const refusal = (message: string): SquadError =>
  new SquadError('INVALID_INPUT', message, {
    suggestions: ['Ask for the first page again: leave cursor out.'],
  });
