import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
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
