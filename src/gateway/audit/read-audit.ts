import type { AuditFilter, AuditPage } from '../../core/ports/audit-trail.ts';
import { AuditRecord } from '../../schema/audit.ts';
import { eachFile, linesBackwards } from './audit-lines.ts';

/** The newest entries that match, read from the end, so that a long log costs no more than a short one. */
export async function readAudit(
  folder: string,
  { runId, deniedOnly, limit }: AuditFilter,
): Promise<AuditPage> {
  // Quotes inside values are escaped, so that no name can look like a field.
  const marks = [
    ...(runId === undefined ? [] : [`"runId":"${runId}"`]),
    ...(deniedOnly ? ['"decision":"denied"'] : []),
  ];
  const entries: AuditRecord[] = [];
  let unreadable = 0;
  await eachFile(folder, 'newest first', async file => {
    for await (const bytes of linesBackwards(file)) {
      if (!marks.every(mark => bytes.includes(mark))) continue;
      const record = asRecord(bytes);
      if (record) entries.push(record);
      else unreadable += 1;
      if (entries.length === limit) return 'done';
    }
    return 'more';
  });
  return { entries: entries.reverse(), unreadable };
}

function asRecord(bytes: Buffer): AuditRecord | null {
  try {
    return AuditRecord.safeParse(JSON.parse(bytes.toString())).data ?? null;
  } catch {
    return null; // counted by the caller, explained by verifying
  }
}
