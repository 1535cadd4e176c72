import { createHash, randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { offThread } from '../../core/off-thread.ts';
import {
  decisionFileName,
  decisionText,
  headingWords,
  type NewDecision,
} from '../../core/team/decision-file.ts';
import { type DecisionFile, type Decisions, readDecisions } from '../../core/team/decisions.ts';
import { countLines, fromHeading, lastLines, MAX_BYTES, MAX_LINES } from '../../core/team/team-markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { resolveInside } from '../files/paths.ts';
import { readTeamText, stampOfFile } from './team-file.ts';

const INBOX = 'decisions/inbox';
const MAIN = 'decisions.md';
const LARGEST = { waiting: 256 * 1024, waitingLines: 5_000, inbox: 4 * 1024 * 1024 };
const MAX_WAITING = 2_000;

export interface KeptDecisions extends Decisions {
  revision: string;
}

/** The decisions in a team's folder. What was read before is given again while no file has changed. */
export async function decisionsIn(folder: string, before: KeptDecisions | null): Promise<KeptDecisions> {
  const { names, fault } = await waitingFiles(folder);
  const revision = await revisionOf(folder, names, fault);
  if (before?.revision === revision) return before;
  const notes = fault === null ? [] : [`${INBOX} ${fault}`];
  const main = await mainFile(folder, notes);
  const inbox: DecisionFile[] = [];
  const room = { bytes: LARGEST.inbox, lines: MAX_LINES };
  let isTooMuch = names.length > MAX_WAITING;
  for (const name of names.slice(0, MAX_WAITING)) {
    const path = `${INBOX}/${name}`;
    const read = await readTeamText(folder, path, LARGEST.waiting);
    if ('fault' in read) notes.push(`${path} ${read.fault}`);
    if (!('text' in read)) continue;
    const lines = countLines(read.text);
    if (read.text.length > room.bytes || lines > Math.min(room.lines, LARGEST.waitingLines)) {
      isTooMuch = true;
      continue;
    }
    room.bytes -= read.text.length;
    room.lines -= lines;
    inbox.push({ file: path, text: read.text });
  }
  const left = names.length - inbox.length;
  if (isTooMuch)
    notes.push(
      `${INBOX} holds too much to read: ${left} of its ${names.length} files are left out. Merge some into ${MAIN}.`,
    );
  const size = inbox.reduce((sum, { text }) => sum + text.length, main?.text.length ?? 0);
  const found = await offThread('decisions', readDecisions, size, main, inbox);
  return { decisions: found.decisions, notes: [...notes, ...found.notes], revision };
}

/** New ones are added at its end: of a file that is too long, that is what is read. */
async function mainFile(folder: string, notes: string[]): Promise<DecisionFile | null> {
  const read = await readTeamText(folder, MAIN, MAX_BYTES, 'end');
  if ('fault' in read) notes.push(`${MAIN} ${read.fault}`);
  if (!('text' in read)) return null;
  const last = lastLines(read.text, MAX_LINES);
  const { text, isCut } = fromHeading({ text: last.text, isCut: read.isCut || last.isCut });
  if (isCut)
    notes.push(
      `${MAIN} is too long to read as a whole: only its end is read, at most ${MAX_BYTES} bytes and ${MAX_LINES} lines. Move old decisions into another file.`,
    );
  return { file: MAIN, text };
}

/** Newest first, as far as the names tell. */
async function waitingFiles(folder: string): Promise<{ names: string[]; fault: string | null }> {
  const place = await resolveInside(folder, join(folder, INBOX));
  if ('missing' in place) return { names: [], fault: null };
  if (!('real' in place))
    return { names: [], fault: 'fault' in place ? place.fault : 'leads out of the workspace' };
  const entries = await readdir(place.real, { withFileTypes: true }).catch((): Dirent[] => []);
  const names = entries
    .filter(entry => entry.isFile() && /^[^.].*\.md$/i.test(entry.name))
    .map(entry => entry.name);
  return { names: names.sort(byStem).reverse(), fault: null };
}

/** `x.md` before `x-2.md`, which came after it. */
function byStem(one: string, other: string): number {
  const [a, b] = [one, other].map(name => name.replace(/\.md$/i, ''));
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}

async function revisionOf(folder: string, names: readonly string[], fault: string | null): Promise<string> {
  const files = [MAIN, ...names.map(name => `${INBOX}/${name}`)];
  const stamps = await Promise.all(files.map(file => stampOfFile(join(folder, file))));
  const hash = createHash('sha256').update(`${fault}\0`);
  for (const [at, file] of files.entries()) hash.update(`${file}\0${stamps[at]}\0`);
  return hash.digest('hex');
}

const MAX_TRIES = 100;

/** Lays a decision into the inbox as a new file. What is there, whoever wrote it, stays as it is. */
export async function recordDecision(
  folder: string,
  decision: NewDecision,
  at: Date,
): Promise<{ id: string; file: string }> {
  const inbox = await inboxOf(folder);
  const text = decisionText(decision, at);
  const stem = decisionFileName(decision, at);
  for (let count = 1; count <= MAX_TRIES; count++) {
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
    const place = await resolveInside(folder, path);
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
