import { card } from '../../../state/live.ts';
import { useParam } from '../../../state/url-state.ts';
import { harmless } from '../../../ui/harmless.ts';

/** The squads of the runs that are shown: one is found where it is seen. */
export function SquadPicker({ ids }: { ids: readonly string[] }) {
  const [squad, setSquad] = useParam('squad');
  const titles = new Map<string, { title: string; runs: number }>();
  for (const id of ids) {
    const run = card(id).peek();
    if (!run) continue;
    const known = titles.get(run.squadId);
    titles.set(run.squadId, {
      title: run.parentId ? (known?.title ?? run.title) : run.title,
      runs: (known?.runs ?? 0) + 1,
    });
  }
  if (squad !== null && !titles.has(squad)) titles.set(squad, { title: squad, runs: 0 });
  return (
    <>
      <select
        aria-label="Squad"
        value={squad ?? ''}
        onChange={event => setSquad(event.currentTarget.value || null)}
      >
        <option value="">all squads</option>
        {[...titles].map(([id, { title, runs }]) => (
          <option key={id} value={id}>
            {harmless(title)}
            {runs > 1 ? ` (${runs})` : ''}
          </option>
        ))}
      </select>
      {squad !== null && <a href={`/s/${squad}`}>tree and timeline</a>}
    </>
  );
}
