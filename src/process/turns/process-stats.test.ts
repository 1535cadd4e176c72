import { afterAll, expect, test } from 'vitest';
import { createProcessTable } from '../table/process-table.ts';
import { cpuTime, createPsSource } from '../table/ps-source.ts';
import { TurnsFixture, until } from '../testing/turn-fixture.ts';
import { createSupervisor } from './supervisor.ts';

const turns = new TurnsFixture();
afterAll(() => turns.remove());
const options = { keepLeftovers: false };

for (const [name, table] of [
  ['/proc', createProcessTable()],
  ['ps', createProcessTable(createPsSource())],
] as const) {
  const supervisor = createSupervisor({ runsDir: turns.runsDir, table });

  test(`an agent that only waits is alive and uses nothing, by ${name}`, async () => {
    const turn = turns.turn('echo ready; exec sleep 61');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, 'ready');
    await until(async () => (await live.processStats()).processes === 1, 'the agent alone');
    const first = await live.processStats();
    expect(first).toMatchObject({ alive: true, stopped: false, processes: 1 });
    expect(await live.processStats()).toEqual(first);
    live.stop(0);
    await live.ended;
  });

  test(`usage of a child counts as usage of the agent, by ${name}`, async () => {
    const turn = turns.turn('(while :; do :; done) & wait');
    const live = await supervisor.start(turn, options);
    await until(async () => (await live.processStats()).processes === 2, 'the child');
    const before = (await live.processStats()).cpuMs;
    await until(async () => (await live.processStats()).cpuMs > before, 'time used by the child');
    live.stop(0);
    await live.ended;
  });

  test(`a process that is stopped by a signal is distinguished from a waiting one, by ${name}`, async () => {
    const turn = turns.turn('echo $$; sleep 61');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, '\n');
    process.kill(Number(turns.read(turn, 'stdout')), 'SIGSTOP');
    await until(async () => (await live.processStats()).stopped, 'the stop');
    expect(await live.processStats()).toMatchObject({ alive: true, stopped: true });
    live.stop(0);
    await live.ended;
  });

  test(`an agent that is gone while its wrapper cannot notice is not alive, by ${name}`, async () => {
    const turn = turns.turn('echo $$; exec sleep 61');
    const live = await supervisor.start(turn, options);
    await turns.said(turn, '\n');
    process.kill(live.pid, 'SIGSTOP');
    process.kill(Number(turns.read(turn, 'stdout')), 'SIGKILL');
    await until(async () => !(await live.processStats()).alive, 'the death');
    expect(await live.processStats()).toMatchObject({ alive: false, processes: 0 });
    process.kill(live.pid, 'SIGCONT');
    expect(await live.ended).toMatchObject({ exitCode: 137 });
  });
}

test('bytes read and written are counted where /proc tells them', async () => {
  const supervisor = createSupervisor({ runsDir: turns.runsDir });
  const turn = turns.turn('head -c 3000000 /dev/zero >/dev/null; echo ready; exec sleep 61');
  const live = await supervisor.start(turn, options);
  await turns.said(turn, 'ready');
  expect((await live.processStats()).ioBytes).toBeGreaterThan(6_000_000 - 1);
  live.stop(0);
  await live.ended;
});

test('a turn that is over has no processes', async () => {
  const supervisor = createSupervisor({ runsDir: turns.runsDir });
  const live = await supervisor.start(turns.turn('true'), options);
  await live.ended;
  expect(await live.processStats()).toEqual({
    alive: false,
    stopped: false,
    cpuMs: 0,
    ioBytes: null,
    processes: 0,
  });
});

test.each([
  ['0:00.07', 70],
  ['12:34.50', 754_500],
  ['01:02:03', 3_723_000],
  ['2-01:00:00', 176_400_000],
])('the time %s of ps is %d ms', (text, ms) => expect(cpuTime(text)).toBe(ms));
