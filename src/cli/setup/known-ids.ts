import { visibleLine } from '../../base/visible-text.ts';
import { runSummary, type ShownRun } from '../../schema/run.ts';
import { runName } from '../../schema/run-name.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { HubClient } from '../hub-client.ts';
import { statusWord } from '../terminal/status-word.ts';
import type { Candidate, Wish } from './wish-for.ts';

const MOST = 50;
/** Somebody waits with a finger on the key. */
const PATIENCE_MS = 1_000;

/** Ids of the newest runs or of open questions, of a hub that is there: none is started for this. */
export async function knownIds(ids: NonNullable<Wish['ids']>): Promise<Candidate[]> {
  const client = await HubClient.findOnly(PATIENCE_MS);
  if (!client) return [];
  const impatience = setTimeout(() => client.close(), PATIENCE_MS);
  try {
    if (ids === 'item') return await openItems(client);
    const { runs } = await client.call('list_runs', { limit: MOST });
    const squads = ids === 'any' ? [...new Set(runs.map(({ squadId }) => squadId))] : [];
    return [
      ...runs.map(run => ({ word: run.id, what: wordsOf(run) })),
      ...squads.map(word => ({ word, what: 'squad' })),
    ];
  } finally {
    clearTimeout(impatience);
    client.close();
  }
}

async function openItems(client: HubClient): Promise<Candidate[]> {
  const { items } = await client.call('list_inbox', { state: 'open', limit: MOST });
  return items.map(({ id, run, question }) => ({ word: id, what: visibleLine(`${run.name}: ${question}`) }));
}

const wordsOf = (run: ShownRun): string =>
  visibleLine(`${statusWord(shownStatus(run))}, ${runName(run)}: ${runSummary(run)}`);
