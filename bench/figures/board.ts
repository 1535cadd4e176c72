import { BenchSquad } from '../bench-squad.ts';
import { fillHistory } from '../board-history.ts';
import { type Figure, paired, type Row } from '../figure.ts';
import { askHub } from '../hub-line.ts';
import { interleave, timed } from '../measure.ts';

const RUNS = 10_000;
const EVENTS = 1_000_000;
const PAGE = 50;
const MAX_MS = 30;
const NOTE =
  'from connecting to the answer read; the floor is a question that looks nothing up, asked in the same way';

interface Board {
  runs: unknown[];
  next: string | null;
  last: number;
}

/** First request of the web UI, with a database that has months of use in it. */
export const board: Figure = {
  name: 'board',
  title: `A page of ${PAGE} out of ${RUNS.toLocaleString('en')} runs, at ${EVENTS.toLocaleString('en')} events`,
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    await squad.stopHub();
    await fillHistory(squad, { runs: RUNS, events: EVENTS });
    await squad.hubPid();
    const first = await page(squad, {});
    if (first.runs.length !== PAGE || first.next === null || first.last < EVENTS)
      throw new Error(`That is no page of ${PAGE}: ${first.runs.length} runs, up to event ${first.last}`);
    const nothing = () => timed(() => askHub(squad, 'hub_status'));
    const asked = async (input: object) => interleave(async () => timed(() => page(squad, input)), nothing);
    const rows: [string, object][] = [
      ['the first page', {}],
      ['the second page', { cursor: first.next }],
      ['the first page of one workspace', { workspace: squad.workspace }],
      ['the first page of failures, whenever they were', { status: ['failed'] }],
    ];
    const measured: Row[] = [];
    for (const [name, input] of rows)
      measured.push(
        paired(name, 'ms', await asked(input), {
          target: `≤ ${MAX_MS} ms`,
          isMet: ({ value }) => value <= MAX_MS,
          ...(measured.length === 0 && { note: NOTE }),
        }),
      );
    return measured;
  },
};

async function page(squad: BenchSquad, input: object): Promise<Board> {
  const answer = await askHub<Board>(squad, 'list_board', { input: { limit: PAGE, ...input } });
  if (!answer) throw new Error('The hub is gone');
  return answer;
}
