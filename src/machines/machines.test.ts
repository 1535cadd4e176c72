import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { until } from '../process/testing/turn-fixture.ts';
import { BoxMachines } from './machines.ts';

const root = mkdtempSync(join(tmpdir(), 'squad-machines-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('a machine is not told which runs to keep before the runs of the earlier hub are known', {
  tags: ['H2'],
}, async () => {
  const programs = join(root, 'programs');
  mkdirSync(programs);
  // The shell of the other machine, without a network.
  writeFileSync(join(programs, 'ssh'), '#!/bin/sh\nexec /bin/sh -s\n');
  chmodSync(join(programs, 'ssh'), 0o755);
  const runnerFile = join(root, 'runner.cjs');
  writeFileSync(runnerFile, `import(${JSON.stringify(join(import.meta.dirname, '../bin/runner.ts'))})`);
  const rows: Record<string, string> = {};
  let asked = 0;
  const hub = () =>
    new BoxMachines({
      ...{
        clock: { now: Date.now, monotonic: () => performance.now() },
        runnerFile,
        clis: () => [],
        busy: () => 0,
      },
      env: { PATH: `${programs}:${process.env.PATH}`, HOME: root },
      store: {
        settings: async () => rows,
        setSetting: async (name, value) => {
          if (value !== null) rows[name] = value;
        },
      },
      kept: async () => {
        asked++;
        return { runs: [], worktrees: [] };
      },
      desk: { id: 'd_1', take: () => {} },
      ...{ onChange: () => {}, warn: () => {} },
    });
  const first = hub();
  await first.add({ ...{ name: 'box', address: 'box', sshConfig: null, slots: null, labels: {} } });
  first.close();
  asked = 0;

  const next = hub();
  try {
    await next.load();
    delete rows['machine.box'];
    const link = next.link('box');
    await until(() => 'machine.box' in rows, 'the machine is connected and was asked for its state');
    // Answered in order, so a request to keep would have been made before.
    await link.ask('ping', {});
    expect(asked).toBe(0);
    next.runsAreKnown();
    await until(() => asked === 1, 'it is notified');
  } finally {
    next.close();
  }
});

describe('a label', { tags: ['H1'] }, () => {
  const row = (name: string, slots: number, isDraining = false) => ({
    [`machine.${name}`]: JSON.stringify({
      ...{
        name,
        address: name,
        sshConfig: null,
        labels: { gpu: 'yes', of: name },
        slots,
        isDraining,
        addedAt: 0,
      },
      facts: {
        ...{ machine: 'm_1', os: 'linux', node: 'v24.0.0', git: null, cpus: 2 },
        ...{ diskFreeBytes: null, clockAheadMs: 0, clis: [] },
      },
    }),
  });
  async function machinesWith(rows: Record<string, string>, busy: Record<string, number> = {}) {
    const machines = new BoxMachines({
      clock: { now: Date.now, monotonic: () => performance.now() },
      ...{ env: {}, runnerFile: '', clis: () => [], busy: name => busy[name] ?? 0 },
      store: { settings: async () => rows, setSetting: async () => {} },
      kept: async () => ({ runs: [], worktrees: [] }),
      desk: { id: 'd_1', take: () => {} },
      ...{ onChange: () => {}, warn: () => {} },
    });
    await machines.load();
    return (asked: string, times = 1) =>
      Array.from({ length: times }, () => machines.choose(asked)?.name).join(' ');
  }

  test('stands for the machine that is least full by its places', async () => {
    const choose = await machinesWith({ ...row('small', 1), ...row('large', 4) }, { small: 0, large: 1 });
    expect(choose('gpu=yes')).toBe('small');
    expect(choose('of=large')).toBe('large');
  });

  test('spreads runs that are placed together', async () => {
    const choose = await machinesWith({ ...row('one', 2), ...row('two', 4) });
    expect(choose('gpu=yes', 6).split(' ').toSorted().join(' ')).toBe('one one two two two two');
  });

  test('is not for a machine that is draining, and says so if that is every one', async () => {
    const choose = await machinesWith({ ...row('one', 9, true), ...row('two', 1) }, { two: 5 });
    expect(choose('gpu=yes', 2)).toBe('two two');
    expect(() => choose('of=one')).toThrow('Every machine with the label of=one is draining');
    expect(() => choose('of=none')).toThrow('No machine has the label of=none');
    expect(() => choose('one')).toThrow('one is draining');
    expect(choose('local')).toBe('');
  });
});
