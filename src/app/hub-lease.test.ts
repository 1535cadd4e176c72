import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bootSeconds, writeHubLease } from '../process/turns/turn-record.ts';
import { HubLease } from './hub-lease.ts';

const NEVER = 9_999_999_999;

test('the lease of agents ends before the database says that they have one', {
  tags: ['H6'],
}, async () => {
  const runsDir = mkdtempSync(join(tmpdir(), 'squad-lease-'));
  onTestFinished(() => rmSync(runsDir, { recursive: true }));
  const stored = () => Number(readFileSync(join(runsDir, '.lease'), 'utf8'));
  // An earlier hub of this home had the database alone.
  writeHubLease(runsDir, NEVER);
  const seen: number[] = [];
  const other = {
    ...{ id: 'other', home: '/other', host: 'other', attempt: 1, version: '1.2.3' },
    ...{ isOwn: false, isRunning: true, silentMs: 0, leaseMs: 15_000, clockAheadMs: 0 },
  };
  const lease = new HubLease({
    runsDir,
    warn: () => {},
    leases: {
      async beat() {
        seen.push(stored());
        return true;
      },
      async hubs() {
        if (seen.length === 0) return [other];
        // The hub is cut off directly after its heartbeat.
        throw new Error('the database is away');
      },
      takeOver: async () => null,
      giveBack: async () => {},
    },
  });
  onTestFinished(() => lease.close());
  await expect(lease.start()).rejects.toThrow('the database is away');
  expect(seen).toHaveLength(1);
  expect(seen[0]).toBeLessThanOrEqual(bootSeconds() + 15);
  expect(stored()).toBe(seen[0]);
});
