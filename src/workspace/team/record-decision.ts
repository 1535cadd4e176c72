import { randomBytes } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decisionFileName,
  decisionText,
  headingWords,
  type NewDecision,
} from '../../core/team/decision-file.ts';
import { readDecisions } from '../../core/team/decisions.ts';
import { SquadError } from '../../schema/error.ts';
import { realPlace } from '../files/real-place.ts';
import { decisionsIn, INBOX } from './team-decisions.ts';

const MOST_TRIES = 100;

/** Lays a decision into the inbox as a new file. What is there, whoever wrote it, stays as it is. */
export async function recordDecision(
  folder: string,
  decision: NewDecision,
  at: Date,
): Promise<{ id: string; file: string }> {
  const inbox = await inboxOf(folder);
  const text = decisionText(decision, at);
  const stem = decisionFileName(decision, at);
  for (let count = 1; count <= MOST_TRIES; count++) {
    // Many at once with one title: no use counting through them all.
    const mark = count === 1 ? '' : count < 10 ? `-${count}` : `-${randomBytes(4).toString('hex')}`;
    const name = `${stem}${mark}.md`;
    if (!(await layNew(join(inbox, name), text))) continue;
    await sync(inbox);
    return { id: await idOf(folder, `${INBOX}/${name}`, text), file: `.squad/${INBOX}/${name}` };
  }
  throw new SquadError(
    'INTERNAL',
    `No free name was found in ${INBOX} for "${headingWords(decision.title)}"`,
  );
}

/** As everybody finds it: another with its title makes it another one. */
async function idOf(folder: string, file: string, text: string): Promise<string> {
  const { decisions } = await decisionsIn(folder, null);
  const found = decisions.find(decision => decision.file === file);
  // An inbox that holds too much to read leaves some out.
  return (found ?? readDecisions(null, [{ file, text }]).decisions[0]!).id;
}

async function inboxOf(folder: string): Promise<string> {
  let path = folder;
  for (const step of INBOX.split('/')) {
    path = join(path, step);
    await mkdir(path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown;
    });
    // One step at a time, so that nothing is made beyond a link.
    const place = await realPlace(folder, path);
    if (!('real' in place))
      throw new SquadError(
        'PERMISSION_DENIED',
        `.squad/${INBOX} leads out of the workspace; nothing is written there`,
        {
          suggestions: ['Make it a plain folder.'],
        },
      );
    path = place.real;
  }
  return path;
}

/** False when something of that name is there. */
async function layNew(file: string, text: string): Promise<boolean> {
  const handle = await open(file, 'wx', 0o644).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'EEXIST') return null;
    throw thrown;
  });
  if (!handle) return false;
  try {
    await handle.writeFile(text);
    await handle.sync();
  } catch (thrown) {
    await rm(file, { force: true });
    throw thrown;
  } finally {
    await handle.close();
  }
  return true;
}

/** The name too is on the disk then. Some systems cannot do this for a folder, and need not. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
