import { type AuditDisk, auditDisk } from '../audit/audit-files.ts';

/**
 * Outcome of a disk operation: success, a system error, an error after half of the bytes (`short`), or a late success
 * (`slow`).
 */
export type Fate = 'works' | 'ENOSPC' | 'EIO' | 'EROFS' | 'short' | 'slow';

const SLOW_MS = 25;

/**
 * The real disk with injected faults. `fateOf` gets the number of each write, sync, rename and truncation, counted from
 * 0, and returns the outcome.
 */
export function faultyDisk(fateOf: (change: number) => Fate): {
  disk: AuditDisk;
  changes(): number;
  syncs(): number;
} {
  let [changes, syncs] = [0, 0];
  function meet(): Fate {
    const fate = fateOf(changes++);
    if (fate !== 'works' && fate !== 'short' && fate !== 'slow')
      throw Object.assign(new Error(`${fate}: made to fail`), { code: fate });
    return fate;
  }
  const disk: AuditDisk = {
    ...auditDisk,
    async open(path) {
      const file = await auditDisk.open(path);
      return {
        ...file,
        async write(bytes, position) {
          return file.write(meet() === 'short' ? bytes.subarray(0, bytes.length >> 1) : bytes, position);
        },
        async truncate(size) {
          meet();
          await file.truncate(size);
        },
        async datasync() {
          if (meet() === 'slow') await new Promise(resolve => setTimeout(resolve, SLOW_MS));
          await file.datasync();
          syncs += 1;
        },
      };
    },
    async rename(from, to) {
      meet();
      await auditDisk.rename(from, to);
    },
  };
  return { disk, changes: () => changes, syncs: () => syncs };
}
