import { createHash, randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { offThread } from '../../core/off-thread.ts';
import {
  decisionFileName,
  decisionText,
  headingText,
  type NewDecision,
} from '../../core/team/decision-file.ts';
import { type DecisionFile, type Decisions, readDecisions } from '../../core/team/decisions.ts';
import { countLines, fromHeading, lastLines, MAX_BYTES, MAX_LINES } from '../../core/team/team-markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { resolveInside } from '../files/paths.ts';
import { createFile } from '../files/text-file.ts';
import { readTeamText, stampOfFile } from './team-file.ts';

const INBOX = 'decisions/inbox';
const MAIN = 'decisions.md';
const MAX_INBOX = { fileBytes: 256 * 1024, fileLines: 5_000, bytes: 4 * 1024 * 1024, files: 2_000 };

export interface CachedDecisions extends Decisions {
  revision: string;
}

/** Decisions in a team's folder. Returns the cached ones if no file has changed. */
export async function decisionsIn(folder: string, before: CachedDecisions | null): Promise<CachedDecisions> {
  const { names, fault } = await inboxFiles(folder);
  const revision = await revisionOf(folder, names, fault);
  if (before?.revision === revision) return before;
  const notes = fault === null ? [] : [`${INBOX} ${fault}`];
  const main = await mainFile(folder, notes);
  const inbox: DecisionFile[] = [];
  const room = { bytes: MAX_INBOX.bytes, lines: MAX_LINES };
  let isTooMuch = names.length > MAX_INBOX.files;
  for (const name of names.slice(0, MAX_INBOX.files)) {
    const path = `${INBOX}/${name}`;
    const read = await readTeamText(folder, path, MAX_INBOX.fileBytes);
    if ('fault' in read) notes.push(`${path} ${read.fault}`);
    if (!('text' in read)) continue;
    const lines = countLines(read.text);
    if (read.text.length > room.bytes || lines > Math.min(room.lines, MAX_INBOX.fileLines)) {
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
      `${INBOX} is too large: ${left} of its ${names.length} files are not read. Merge some into ${MAIN}.`,
    );
  const size = inbox.reduce((sum, { text }) => sum + text.length, main?.text.length ?? 0);
  const found = await offThread('decisions', readDecisions, size, main, inbox);
  return { decisions: found.decisions, notes: [...notes, ...found.notes], revision };
}

/** New decisions are added at the end, so only the end of a file that is too long is read. */
async function mainFile(folder: string, notes: string[]): Promise<DecisionFile | null> {
  const read = await readTeamText(folder, MAIN, MAX_BYTES, 'end');
  if ('fault' in read) notes.push(`${MAIN} ${read.fault}`);
  if (!('text' in read)) return null;
  const last = lastLines(read.text, MAX_LINES);
  const { text, isCut } = fromHeading({ text: last.text, isCut: read.isCut || last.isCut });
  if (isCut)
    notes.push(
      `${MAIN} is too long: only its end is read, at most ${MAX_BYTES} bytes and ${MAX_LINES} lines. Move old decisions into another file.`,
    );
  return { file: MAIN, text };
}

/** Files of the inbox, newest first by their names. */
async function inboxFiles(folder: string): Promise<{ names: string[]; fault: string | null }> {
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

/** Sorts `x.md` before `x-2.md`, which is newer. */
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

/** Writes a decision into a new file of the inbox. Existing files are not touched. */
export async function recordDecision(
  folder: string,
  decision: NewDecision,
  at: Date,
): Promise<{ id: string; file: string }> {
  const inbox = await inboxOf(folder);
  const text = decisionText(decision, at);
  const stem = decisionFileName(decision, at);
  for (let count = 1; count <= MAX_TRIES; count++) {
    // From the tenth decision with the same title on, a random suffix is used, because finding a free number would
    // take longer.
    const suffix = count === 1 ? '' : count < 10 ? `-${count}` : `-${randomBytes(4).toString('hex')}`;
    const name = `${stem}${suffix}.md`;
    if (!(await createFile(join(inbox, name), text, { mode: 0o644 }))) continue;
    await syncFolder(inbox);
    return { id: await idOf(folder, `${INBOX}/${name}`, text), file: `.squad/${INBOX}/${name}` };
  }
  throw new SquadError(
    'INTERNAL',
    `Found no free file name in ${INBOX} for "${headingText(decision.title)}"`,
  );
}

/** The decision's id. It contains a number if another decision has the same title. */
async function idOf(folder: string, file: string, text: string): Promise<string> {
  const { decisions } = await decisionsIn(folder, null);
  const found = decisions.find(decision => decision.file === file);
  // Null if the inbox is too large to be read completely.
  return (found ?? readDecisions(null, [{ file, text }]).decisions[0]!).id;
}

async function inboxOf(folder: string): Promise<string> {
  let path = folder;
  for (const step of INBOX.split('/')) {
    path = join(path, step);
    await mkdir(path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown;
    });
    // Creates one folder at a time, so that nothing is created behind a link.
    const place = await resolveInside(folder, path);
    if (!('real' in place))
      throw new SquadError(
        'PERMISSION_DENIED',
        `.squad/${INBOX} leads out of the workspace; nothing is written there`,
        {
          suggestions: ['Replace it with a plain folder inside the workspace.'],
        },
      );
    path = place.real;
  }
  return path;
}

/**
 * Syncs the folder, so that the new file's name is on disk too. Errors are ignored, because some systems cannot sync
 * a folder.
 */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
