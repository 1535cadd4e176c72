import { open } from 'node:fs/promises';
import type { AuditBreak, AuditVerdict } from '../../schema/audit.ts';
import { checkLine, type Link, START } from './audit-chain.ts';
import { currentFile, headFile } from './audit-files.ts';
import { type Head, readHead } from './audit-head.ts';
import { eachFile, linesOf } from './audit-lines.ts';

type Fault = Pick<AuditBreak, 'what' | 'message'>;

/**
 * Every line of every file, in order, up to the first that is not as it was written. `written` is what a log at work knows to
 * be on disk: it may be writing beyond that. Without it, what the log last said of itself counts.
 */
export async function verifyAudit(folder: string, written?: Link): Promise<AuditVerdict> {
  const head = written ? { ...written, isLast: false } : await storedHead(folder);
  let link = START;
  let problem: AuditBreak | null = null;
  let place = { file: currentFile(folder), line: 0 };
  const files = await eachFile(folder, 'oldest first', async (file, path) => {
    let line = 0;
    for await (const { bytes, isWhole } of linesOf(file)) {
      line += 1;
      if (problem) {
        // A number that is not where it should be is either further on or nowhere.
        if (!bytes.toString('latin1', 0, 32).startsWith(`{"seq":${problem.seq},`)) continue;
        problem = { ...problem, ...displaced(problem.seq) };
        return 'done';
      }
      if (!isWhole && written && link.seq >= written.seq) return 'done';
      place = { file: path, line };
      const found = isWhole ? follow(bytes, link, head) : INCOMPLETE;
      if ('what' in found) problem = { ...place, seq: link.seq + 1, ...found };
      else link = found;
      if (problem && problem.what !== 'missing') return 'done';
    }
    return 'more';
  });
  const fault = problem ? null : endFault(link, head);
  if (fault) problem = { file: place.file, line: place.line + 1, seq: link.seq + 1, ...fault };
  return {
    problem,
    entries: link.seq,
    files,
    lastHash: link === START ? null : link.hash,
  };
}

/** The line that comes after `before`, or what is wrong with it. */
function follow(bytes: Buffer, before: Link, head: Head | null): Link | Fault {
  const line = checkLine(bytes);
  if (line === 'unreadable') return { what: 'unreadable', message: 'This is no line of the log.' };
  if (line === 'edited') return { what: 'edited', message: 'This line is not what was written.' };
  const due = before.seq + 1;
  if (line.seq < due) return displaced(due, line.seq);
  if (line.seq > due)
    return { what: 'missing', message: `Line ${line.seq} stands here; ${due} and those up to it are gone.` };
  if (line.prev !== before.hash)
    return {
      what: 'edited',
      message: 'This line does not come after the one before it: one of the two is forged.',
    };
  if (head?.isLast && line.seq > head.seq)
    return { what: 'edited', message: 'This line was added after the log had been closed.' };
  if (line.seq === head?.seq && line.hash !== head.hash)
    return {
      what: 'edited',
      message: 'Another line was written here: the log was rewritten up to this one or from further up.',
    };
  return { seq: line.seq, hash: line.hash };
}

function endFault({ seq }: Link, head: Head | null): Fault | null {
  if (head === null)
    return seq === 0
      ? null
      : { what: 'cut', message: 'audit.head is gone, so that nobody can tell whether the end is there.' };
  if (seq >= head.seq) return null;
  return {
    what: 'cut',
    message: `The log went on up to line ${head.seq}; ${head.seq - seq} lines are gone from its end.`,
  };
}

const INCOMPLETE: Fault = {
  what: 'cut',
  message: 'The last line is incomplete: the hub was killed while it wrote, or the file was cut.',
};

const displaced = (due: number, found?: number): Fault => ({
  what: 'reordered',
  message:
    found === undefined
      ? `Line ${due} stands further down.`
      : `Line ${found} stands here, where ${due} should be.`,
});

async function storedHead(folder: string): Promise<Head | null> {
  const file = await open(headFile(folder), 'r').catch(() => null); // as good as not there
  if (!file) return null;
  try {
    return await readHead({
      read: async (position, length) => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
        return buffer.subarray(0, bytesRead);
      },
    });
  } finally {
    await file.close();
  }
}
