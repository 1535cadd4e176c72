import { expect, test } from 'vitest';
import type { RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import { BoardHub } from '../testing/board-hub.ts';
import { findRun } from './find-runs.ts';

test('an unknown id suggests a similar one, however old its run is', async () => {
  const hub = await BoardHub.open();
  const id = (n: number) => `run_${n.toString(36).padStart(10, 'z')}` as RunId;
  const old = { ...hub.run({ status: 'completed' }), id: 'run_abcde12345' as RunId, createdAt: 1 };
  const runs: Run[] = Array.from({ length: 300 }, (_, n) => ({
    ...hub.run({ status: 'completed' }),
    id: id(n),
    createdAt: 1_000 + n,
  }));
  await hub.store.commit({ runs: [old, ...runs], events: [] });
  for (const given of ['run_abcde12354', 'abcde1234x'])
    await expect(findRun(hub.services, given)).rejects.toMatchObject({
      code: 'RUN_UNKNOWN',
      suggestions: ['Did you mean run_abcde12345?'],
    });
});
