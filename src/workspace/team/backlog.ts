import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { offThread } from '../../core/off-thread.ts';
import { type BacklogEdit, editBacklog } from '../../core/team/edit-backlog.ts';
import { firstLines, MAX_LINES } from '../../core/team/team-markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { readTeamBytes, replaceTeamFile } from './team-file.ts';

const queue = new KeyedQueue<string>();

export const revisionOf = (text: string | null): string =>
  text === null ? 'none' : createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Makes one change. With a revision, only if the file still has it; never over what an editor wrote meanwhile. Throws
 * BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
 */
export function changeBacklog(
  folder: string,
  edit: BacklogEdit,
  revision: string | null,
): Promise<{ number: number; title: string }> {
  const file = join(folder, 'backlog.md');
  return queue.run(file, async () => {
    const before = await readText(file);
    if (revision !== null && revision !== revisionOf(before?.text ?? null)) throw changedByOthers();
    const { text, number, item } = await offThread(
      'edited backlog',
      editBacklog,
      before?.text.length ?? 0,
      before?.text ?? null,
      edit,
    );
    const bytes = Buffer.from((before?.bom ?? '') + text);
    const now = await readTeamBytes(file);
    if (!(now === null ? before === null : before?.bytes.equals(now))) throw changedByOthers();
    await replaceTeamFile(file, bytes);
    return { number, title: item.title };
  });
}

/** The whole file, or an error: a part that was not read could not be written back. */
async function readText(file: string): Promise<{ bytes: Buffer; bom: string; text: string } | null> {
  const bytes = await readTeamBytes(file).catch((thrown: Error) => {
    throw new SquadError('PERMISSION_DENIED', `.squad/backlog.md cannot be changed: it ${thrown.message}`, {
      suggestions: ['Make it a plain file of at most 1 MiB.'],
    });
  });
  if (bytes === null) return null;
  const whole = decoded(bytes);
  const bom = whole.startsWith('\ufeff') ? '\ufeff' : '';
  const text = whole.slice(bom.length);
  if (firstLines(text, MAX_LINES).isCut)
    throw unsafe(`it has more than ${MAX_LINES} lines`, 'Make it shorter, or change it in an editor.');
  return { bytes, bom, text };
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unsafe('it is not UTF-8 text', 'Save it as UTF-8, or change it in its own editor.');
  }
}

const unsafe = (why: string, next: string) =>
  new SquadError('BACKLOG_CHANGED', `.squad/backlog.md cannot be changed safely: ${why}`, {
    suggestions: [next],
  });

const changedByOthers = () =>
  new SquadError('BACKLOG_CHANGED', '.squad/backlog.md was changed in the meantime', {
    suggestions: ['Check it again (`squad backlog`), then retry. Nothing was written.'],
  });
