import { join } from 'node:path';
import type { AuditDisk } from './audit-disk.ts';

/** What is being written to; older ones are named by the number of their first line. */
export const currentFile = (folder: string) => join(folder, 'audit.jsonl');
export const headFile = (folder: string) => join(folder, 'audit.head');
export const olderFile = (folder: string, firstSeq: number) => join(folder, `audit-${firstSeq}.jsonl`);

/** In the order they were written, without the current one. */
export async function olderFiles(disk: Pick<AuditDisk, 'list'>, folder: string): Promise<string[]> {
  const firsts = (await disk.list(folder)).flatMap(name => {
    const number = /^audit-([1-9][0-9]{0,15})\.jsonl$/.exec(name)?.[1];
    return number === undefined ? [] : Number(number);
  });
  return firsts.sort((a, b) => a - b).map(first => olderFile(folder, first));
}
