import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Memory of a process as the kernel reports it, in MB of 1,000,000 bytes. Linux only: no other kernel reports the peak. */
export interface Memory {
  now: number;
  peak: number;
}

export const canReadMemory = existsSync('/proc/self/status');

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (field: string) =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  return { now: read('VmRSS'), peak: read('VmHWM') };
}

/** Resets the peak, which then counts from now on. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
