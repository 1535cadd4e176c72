import { closeSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { hubEnvironment } from '../link/start-hub.ts';

const O_CLOEXEC = 0o2000000;

/**
 * Drops everything that the hub inherited from the process that started it, because agents would inherit it from the hub.
 * Returns warnings about what it could not drop.
 */
export function shedInherited(): string[] {
  process.chdir('/');
  // The user may have a stricter umask; the owner needs all bits, and nobody else may write.
  process.umask((process.umask() & 0o077) | 0o022);
  const allowed = hubEnvironment(process.env);
  for (const name of Object.keys(process.env)) if (!(name in allowed)) delete process.env[name];
  closeInheritedFiles();
  return limitWarnings();
}

/**
 * Node marks inherited descriptors close-on-exec only up to the first gap above 15. So a lock file at 200 would reach
 * the hub, which would hold that lock as long as it runs. Node's own descriptors all have the mark. Systems without
 * /proc keep inherited descriptors.
 */
function closeInheritedFiles(): void {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    try {
      const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
      const isInherited = flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
      if (fd > 2 && isInherited) closeSync(fd);
    } catch {
      // Skips the descriptor of this directory listing, which is already closed.
    }
  }
}

/** Restores normal priority and limits as far as the system allows, and warns about the rest. */
function limitWarnings(): string[] {
  const kept = [...lowPriority(), ...(process.platform === 'linux' ? lowLimits() : [])];
  if (kept.length === 0) return [];
  return [
    `The hub and its agents have the limits of the process that started the hub: ${kept.join(', ')}. \`squad hub stop\`, then \`squad hub start\` in a normal shell, removes them.`,
  ];
}

function lowPriority(): string[] {
  const nice = getPriority();
  try {
    if (nice !== 0) setPriority(0);
    return [];
  } catch {
    return [`low priority (nice ${nice})`];
  }
}

/** Limits that can end the hub or make its writes or program starts fail, each with the lowest sufficient value. */
const ENOUGH: Record<string, number> = {
  'cpu time': Infinity,
  'file size': Infinity,
  'data size': Infinity,
  'address space': Infinity,
  // Every system limits open files and processes, usually to thousands.
  'open files': 1024,
  processes: 1024,
};
const LIMIT = /^Max ([a-z ]+?)\s{2,}(\d+)\s+\w+\s+(\w+)/gm;

function lowLimits(): string[] {
  const limits = readFileSync('/proc/self/limits', 'utf8').matchAll(LIMIT);
  const low = [...limits].filter(([, name, amount]) => Number(amount) < (ENOUGH[name!] ?? 0));
  return [
    ...low.map(([, name, amount, unit]) => `max ${name} ${amount} ${unit}`),
    ...(isFirstToBeKilled() ? ['killed first when memory is short'] : []),
  ];
}

function isFirstToBeKilled(): boolean {
  const file = '/proc/self/oom_score_adj';
  try {
    if (Number(readFileSync(file, 'utf8')) <= 0) return false;
    writeFileSync(file, '0');
    return false;
  } catch {
    return true;
  }
}
