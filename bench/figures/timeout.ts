import { BenchSquad } from '../bench-squad.ts';
import { type Figure, sampled } from '../figure.ts';
import { PAIRS, repeat, timed } from '../measure.ts';

const LIMIT_MS = 1_000;
const MAX_OVER_MS = 2_000;

/** How long the caller waits for an agent with a time limit that ignores TERM. */
export const timeout: Figure = {
  name: 'timeout',
  title: 'Time limit of an agent that ignores TERM, with the default grace',
  async measure() {
    await using squad = new BenchSquad();
    await squad.hubPid();
    const { env } = squad.agent(["trap '' TERM", 'while :; do sleep 0.1; done']);
    const client = squad.client({ ...env, PROCESS_TIMEOUT_MS: String(LIMIT_MS) });
    await client.initialize();
    const over = await repeat(PAIRS, async () => {
      const members = [{ roleId: 'coder', task: 'ignore' }];
      const call = { name: 'start_squad_members', arguments: { members } };
      // Uses `request`, because `tool` would throw for a run that timed out.
      return (await timed(() => client.request('tools/call', call))) - LIMIT_MS;
    });
    await client.close();
    return [
      sampled('reply after the limit', 'ms', over, {
        target: `≤ ${MAX_OVER_MS} ms, each time`,
        isMet: () => Math.max(...over) <= MAX_OVER_MS,
      }),
    ];
  },
};
