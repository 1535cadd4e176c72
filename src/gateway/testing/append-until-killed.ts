import { AuditLog } from '../audit/audit-log.ts';

/** Appends entries until it is killed, and prints which entries are on disk. */
const folder = process.argv[2]!;
const log = new AuditLog({
  folder,
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  warn: () => {},
});
for (let round = 0; ; round++) {
  const names = Array.from({ length: 7 }, (_, i) => `${process.pid}/${round}/${i}`);
  for (const name of names)
    log.append({
      ...{ runId: null, roleId: null, workspace: '', server: null, kind: 'tool', outcome: 'ok' },
      name,
      decision: 'allowed',
    });
  await log.flush();
  process.stdout.write(names.map(name => `${name}\n`).join(''));
}
