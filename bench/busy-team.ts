import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BenchSquad } from './bench-squad.ts';
import { askHub } from './hub-line.ts';
import { until } from './measure.ts';

const ENGINE = 'busy';

/** Starts agents that need almost no resources. Together they report `perSecond` events per second. */
export async function startBusyTeam(
  squad: BenchSquad,
  { runs, perSecond }: { runs: number; perSecond: number },
): Promise<void> {
  const pause = runs / perSecond;
  const { script } = squad.agent([
    `sleep $(( $$ % ${Math.max(1, Math.round(pause))} ))`,
    'while :; do n=$((n+1))',
    `printf '{"at":1,"type":"tool","name":"Bash","detail":"npm test -- src/upload, step %s of %s"}\\n' $n $$`,
    `sleep ${pause}; done`,
  ]);
  const file = join(squad.env().HOME!, '.config', 'squad', 'config.json');
  mkdirSync(dirname(file), { recursive: true });
  const engine = { runTemplate: `/bin/sh ${script}`, parser: 'squad' };
  writeFileSync(file, JSON.stringify({ engines: { [ENGINE]: engine } }));
  await squad.squad('config', 'set', 'limits.concurrency', String(runs));
  await squad.squad('config', 'set', 'limits.spawns_per_minute', '100000');
  const members = Array.from({ length: runs }, (_, at) => ({
    roleId: 'coder',
    task: `Part ${at} of the work`,
  }));
  // One call starts at most 50 runs.
  for (let from = 0; from < runs; from += 50)
    await askHub(squad, 'start_squad', {
      input: { engine: ENGINE, members: members.slice(from, from + 50) },
    });
  await until('every run is running', async () => {
    const board = await askHub<{ counts: { running: number } }>(squad, 'list_board', { input: { limit: 1 } });
    return board?.counts.running === runs;
  });
}
