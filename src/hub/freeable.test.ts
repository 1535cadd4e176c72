import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeFreeable } from './freeable.ts';

test('files that can be freed are named with their size, and only existing ones', () => {
  const home = mkdtempSync(join(tmpdir(), 'squad-freeable-'));
  try {
    mkdirSync(join(home, 'runs', 'run_1', 'turn-1'), { recursive: true });
    writeFileSync(join(home, 'runs', 'run_1', 'turn-1', 'stdout'), Buffer.alloc(3 * 1024 ** 2, 'x'));
    writeFileSync(join(home, 'hub.log.1'), 'x');
    writeFileSync(join(home, 'squad.db'), 'x');
    writeFileSync(join(home, 'squad.db.damaged-20260101T000000Z'), Buffer.alloc(2 * 1024 ** 2, 'x'));
    const [damaged, log, runs, ...more] = describeFreeable(home);
    expect(damaged).toMatch(/squad\.db\.damaged-20260101T000000Z: 2\.\d MiB \(a damaged database/);
    expect(log).toContain(join(home, 'hub.log.1'));
    expect(runs).toMatch(/runs: 3\.\d MiB \(prompts and output/);
    expect(more).toEqual([]);
  } finally {
    rmSync(home, { recursive: true });
  }
});
