import { readdirSync, readFileSync } from 'node:fs';

/** Whether it is at work, not just waiting for its parent to take note of its end: in a container nobody may ever do that. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const isDead = 'ZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2));
    // Its files stay open until its last thread is gone.
    return !isDead || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}
