import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { mock } from '../../test/engines/model-server/script.ts';
import { ownServer, Subagents, said } from '../../test/support/subagents.ts';
import { type Figure, paired } from '../figure.ts';
import { interleave, timed } from '../measure.ts';

const HOLDER = join(import.meta.dirname, '..', '..', 'src', 'store', 'fixtures', 'hold-database.ts');
const BLOCKED_MS = 5_000;
const CALLS = 55;
const DELAY_MS = 100;
const PAIRS = 3;
/** What a call may take longer: a look of the store at the lock now and then. */
const MOST_RATIO = 1.05;

/** A database that another process holds must not make an agent wait. */
export const blockedStore: Figure = {
  name: 'blocked-store',
  title: `A subagent's call with ${CALLS} tool calls while the database is locked for ${BLOCKED_MS / 1_000} s`,
  async measure() {
    await using subagents = await Subagents.start();
    await subagents.squad.unlimited();
    subagents.write('worker', { servers: { echo: ownServer('echo') } });
    const client = await subagents.client('worker');
    let count = 0;
    const call = (meanwhile: (tag: string) => Promise<unknown>) =>
      timed(async () => {
        const tag = `call-${count++}`;
        const step = { call: 'echo', arguments: { nonce: tag, delayMs: DELAY_MS } };
        const prompt = mock([...Array.from({ length: CALLS }, () => step), { text: 'done' }], tag);
        await Promise.all([said(client, client.call('worker', { prompt })), meanwhile(tag)]);
      });
    const pair = await interleave(
      () =>
        call(async tag => {
          await subagents.model.waitForRequest(request => request.tag === tag && request.step === 1);
          await holdFor(join(subagents.squad.home, 'squad.db'), BLOCKED_MS);
        }),
      () => call(async () => {}),
      { pairs: PAIRS, warmUps: 1 },
    );
    await client.close();
    return [
      paired('from the call to its answer, against the same with a free database', 'ms', pair, {
        target: `≤ ${MOST_RATIO} ×`,
        isMet: ({ ratio = 0 }) => ratio <= MOST_RATIO,
      }),
    ];
  },
};

async function holdFor(file: string, ms: number): Promise<void> {
  const holder = spawn(process.execPath, [HOLDER, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  await new Promise(wake => setTimeout(wake, ms));
  holder.stdin.write('release\n');
  await once(holder, 'close');
}
