import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { offThread } from '../../core/off-thread.ts';
import { type BacklogEdit, editBacklog } from '../../core/team/edit-backlog.ts';
import { firstLines, MAX_LINES } from '../../core/team/team-markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { readTeamBytes, replaceTeamFile } from './team-file.ts';

const queue = new KeyedQueue<string>();

/** Another one whenever the file holds something else. */
export const revisionOf = (text: string | null): string =>
  text === null ? 'none' : createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Changes the file as a person would. With a revision, only while it still is what that person saw; in any case not over what an
 * editor wrote meanwhile. Throws BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
 */
export function changeBacklog(
  folder: string,
  edit: BacklogEdit,
  revision: string | null,
): Promise<{ number: number; title: string }> {
  const file = join(folder, 'backlog.md');
  return queue.run(file, async () => {
    const before = await readText(file);
    if (revision !== null && revision !== revisionOf(before?.text ?? null)) throw changedMeanwhile();
    const { text, number, item } = await offThread(
      'edited backlog',
      editBacklog,
      before?.text.length ?? 0,
      before?.text ?? null,
      edit,
    );
    const bytes = Buffer.from((before?.mark ?? '') + text);
    const now = await readTeamBytes(file);
    if (!(now === null ? before === null : before?.bytes.equals(now))) throw changedMeanwhile();
    await replaceTeamFile(file, bytes);
    return { number, title: item.title };
  });
}

/** All of it, or a refusal: what was not read could not be written back. */
async function readText(file: string): Promise<{ bytes: Buffer; mark: string; text: string } | null> {
  const bytes = await readTeamBytes(file).catch((thrown: Error) => {
    throw new SquadError('PERMISSION_DENIED', `.squad/backlog.md cannot be changed: it ${thrown.message}`, {
      suggestions: ['Make it a plain file of at most 1 MiB.'],
    });
  });
  if (bytes === null) return null;
  const whole = decoded(bytes);
  const mark = whole.startsWith('\ufeff') ? '\ufeff' : '';
  const text = whole.slice(mark.length);
  if (firstLines(text, MAX_LINES).isCut)
    throw cannot(`it has more than ${MAX_LINES} lines`, 'Make it shorter, or change it in an editor.');
  return { bytes, mark, text };
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw cannot('it is not UTF-8 text', 'Save it as UTF-8, or change it in its own editor.');
  }
}

const cannot = (why: string, next: string) =>
  new SquadError('BACKLOG_CHANGED', `.squad/backlog.md cannot be changed safely: ${why}`, {
    suggestions: [next],
  });

const changedMeanwhile = () =>
  new SquadError('BACKLOG_CHANGED', '.squad/backlog.md was changed by somebody else meanwhile', {
    suggestions: ['Look at it again (`squad backlog`), then try once more. Nothing was written.'],
  });
