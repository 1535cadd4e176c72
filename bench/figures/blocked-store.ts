import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { mock } from '../../test/engines/model-server/script.ts';
import { ownServer, Subagents, said } from '../../test/support/subagents.ts';
import { type Figure, paired } from '../figure.ts';
import { interleave, timed } from '../measure.ts';

const HOLDER = join(import.meta.dirname, '..', '..', 'src', 'store', 'fixtures', 'hold-database.ts');
const BLOCKED_MS = 5_000;
const DELAY_MS = 100;
const PAIRS = 3;
/** Numbers of calls: with `LONG` the run outlasts the lock; with `SHORT` it ends while the lock is held. */
const LONG = 55;
const SHORT = 20;
/** Maximum slowdown of a call, because the store polls the lock. */
const MAX_RATIO = 1.05;
/** Maximum delay of the answer: the end of the run and the call each wait briefly for the disk. */
const MAX_OVER_MS = 1_000;

/** While another process locks the database, neither an agent nor its caller may wait. */
export const blockedStore: Figure = {
  name: 'blocked-store',
  title: `A subagent's call while the database is locked for ${BLOCKED_MS / 1_000} s`,
  async measure() {
    await using subagents = await Subagents.start();
    await subagents.squad.unlimited();
    subagents.write('worker', { servers: { echo: ownServer('echo') } });
    const client = await subagents.client('worker');
    let count = 0;
    const call = async (calls: number, meanwhile: (tag: string) => Promise<unknown>) => {
      const tag = `call-${count++}`;
      const step = { call: 'echo', arguments: { nonce: tag, delayMs: DELAY_MS } };
      const prompt = mock([...Array.from({ length: calls }, () => step), { text: 'done' }], tag);
      const beside = meanwhile(tag);
      const ms = await timed(() => said(client, client.call('worker', { prompt })));
      await beside;
      return ms;
    };
    const hold = async (tag: string) => {
      await subagents.model.waitForRequest(request => request.tag === tag && request.step === 1);
      await holdFor(join(subagents.squad.home, 'squad.db'), BLOCKED_MS);
    };
    const pairOf = (calls: number) =>
      interleave(
        () => call(calls, hold),
        () => call(calls, async () => {}),
        { pairs: PAIRS, warmUps: 1 },
      );
    const [within, atEnd] = [await pairOf(LONG), await pairOf(SHORT)];
    await client.close();
    return [
      paired(`${LONG} tool calls, locked while they are made, against a free database`, 'ms', within, {
        target: `≤ ${MAX_RATIO} ×`,
        isMet: ({ ratio = 0 }) => ratio <= MAX_RATIO,
      }),
      paired(`${SHORT} tool calls, locked beyond its end, against a free database`, 'ms', atEnd, {
        target: `≤ + ${MAX_OVER_MS} ms`,
        isMet: ({ over = 0 }) => over <= MAX_OVER_MS,
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
