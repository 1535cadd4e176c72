import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DecisionFile, type Decisions, readDecisions } from '../core/team/decisions.ts';
import { realPlace } from './real-place.ts';
import { readTeamText, stampOfFile } from './team-text.ts';

export const INBOX = 'decisions/inbox';
const MAIN = 'decisions.md';
const LARGEST = { main: 8 * 1024 * 1024, waiting: 256 * 1024, inbox: 16 * 1024 * 1024 };
const MOST_WAITING = 2_000;

export interface KeptDecisions extends Decisions {
  revision: string;
}

/** The decisions in a team's folder. What was read before is given again while no file has changed. */
export async function decisionsIn(folder: string, before: KeptDecisions | null): Promise<KeptDecisions> {
  const { names, fault } = await waitingFiles(folder);
  const revision = await revisionOf(folder, names, fault);
  if (before?.revision === revision) return before;
  const notes = fault === null ? [] : [`${INBOX} ${fault}`];
  const take = async (path: string, most: number): Promise<DecisionFile | null> => {
    const read = await readTeamText(folder, path, most);
    if ('fault' in read) notes.push(`${path} ${read.fault}`);
    return 'text' in read ? { file: path, text: read.text } : null;
  };
  const main = await take(MAIN, LARGEST.main);
  const inbox: DecisionFile[] = [];
  let bytes = 0;
  for (const name of names.slice(0, MOST_WAITING)) {
    const file = await take(`${INBOX}/${name}`, LARGEST.waiting);
    bytes += file?.text.length ?? 0;
    if (bytes > LARGEST.inbox) break;
    if (file) inbox.push(file);
  }
  const left = names.length - inbox.length;
  if (names.length > MOST_WAITING || bytes > LARGEST.inbox)
    notes.push(
      `${INBOX} holds too much to read: ${left} of its ${names.length} files are left out. Merge some into ${MAIN}.`,
    );
  const found = readDecisions(main, inbox);
  return { decisions: found.decisions, notes: [...notes, ...found.notes], revision };
}

/** Newest first, as far as the names tell. */
async function waitingFiles(folder: string): Promise<{ names: string[]; fault: string | null }> {
  const place = await realPlace(folder, join(folder, INBOX));
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
