import { afterAll, expect, test } from 'vitest';
import { OutputSilence, type SilenceState } from '../src/core/runs/stall-watch.ts';
import { TurnsFixture, until } from '../src/process/testing/turn-fixture.ts';
import { createSupervisor } from '../src/process/turns/supervisor.ts';

const turns = new TurnsFixture();
const supervisor = createSupervisor({ runsDir: turns.runsDir });
afterAll(() => turns.remove());

const STALL_MS = 1500;

/** A real agent that never says a word, looked at until it is in one of these states. */
async function watched(
  script: string,
  wanted: SilenceState[],
  meanwhile: (agent: number) => void = () => {},
) {
  const turn = turns.turn(script);
  const live = await supervisor.start(turn, { keepLeftovers: false });
  const watch = new OutputSilence(Date.now(), STALL_MS);
  await until(async () => (await live.processStats()).alive, 'the agent');
  meanwhile(live.pid);
  const began = Date.now();
  let looks = 0;
  await until(async () => {
    watch.addSample(await live.processStats(), Date.now());
    looks++;
    return wanted.includes(watch.state(Date.now()).state) || Date.now() - began > 3 * STALL_MS;
  }, `${wanted}`);
  const { state } = watch.state(Date.now());
  live.stop(0);
  await live.ended;
  expect(looks).toBeGreaterThan(2);
  return state;
}

test('an agent that waits for nothing is stalled', async () => {
  expect(await watched('sleep 61', ['stalled', 'dead'])).toBe('stalled');
});

test('a run whose child computes is not silent', async () => {
  expect(await watched('(while :; do :; done) & wait', ['stalled', 'dead'])).toBe('working');
});

test('a run that is held by a signal is dead, not stalled', async () => {
  const hold = (group: number) => process.kill(-group, 'SIGSTOP');
  expect(await watched('sleep 61', ['dead'], hold)).toBe('dead');
});
