import { createHash } from 'node:crypto';
import { type Dirent, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { offThread } from '../../core/off-thread.ts';
import type { TeamAgent, TeamMemory } from '../../core/ports/workspace.ts';
import { readBacklog } from '../../core/team/backlog.ts';
import { type BacklogEdit, editBacklog } from '../../core/team/edit-backlog.ts';
import { readHistory } from '../../core/team/history.ts';
import { readRoster } from '../../core/team/roster.ts';
import { firstLines, fromHeading, lastLines, MAX_BYTES, MAX_LINES } from '../../core/team/team-markdown.ts';
import { SquadError } from '../../schema/error.ts';
import { resolveInside } from '../files/paths.ts';
import { type CachedDecisions, decisionsIn, recordDecision } from './decisions.ts';
import { readTeamBytes, readTeamText, replaceTeamFile, stampOfFile, teamFolder } from './team-file.ts';

const queue = new KeyedQueue<string>();

export const revisionOf = (text: string | null): string =>
  text === null ? 'none' : createHash('sha256').update(text).digest('hex').slice(0, 16);

/**
 * Makes one change to the backlog. With a revision, only if the file still has that revision. Never overwrites what
 * an editor wrote meanwhile. Throws BACKLOG_CHANGED, BACKLOG_ITEM_UNKNOWN, INVALID_INPUT and PERMISSION_DENIED.
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

/**
 * Reads the whole file. Throws if that is not possible, because a part that was not read could not be written back.
 */
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

const MAX_ENTRIES = 1_000;
/** Names that are valid as a single path component on every system. Folders such as `_alumni` are not agents. */
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}_-])?$/u;

/** An agent with its files, as paths in the team's folder. */
interface AgentFiles extends TeamAgent {
  charter: string | null;
  history: string | null;
}

/** Agents in `agents/`: each is a folder with a charter or a history, or a role file. */
async function agentsIn(folder: string): Promise<AgentFiles[]> {
  const place = await resolveInside(folder, join(folder, 'agents'));
  if (!('real' in place)) return [];
  const entries = await readdir(place.real, { withFileTypes: true }).catch((): Dirent[] => []);
  const found = new Map<string, AgentFiles>();
  for (const entry of entries.slice(0, MAX_ENTRIES)) {
    const isRole = entry.isFile() && entry.name.endsWith('.md');
    const name = isRole ? entry.name.slice(0, -3) : entry.name;
    if (!(isRole || entry.isDirectory()) || !NAME.test(name)) continue;
    const of = (file: string) => `agents/${name}/${file}`;
    const has = async (path: string) => (await stampOfFile(join(folder, path))) !== null;
    const charter = isRole ? `agents/${name}.md` : (await has(of('charter.md'))) ? of('charter.md') : null;
    const history = !isRole && (await has(of('history.md'))) ? of('history.md') : null;
    const known = found.get(name);
    const places = { charter: charter ?? known?.charter ?? null, history: history ?? known?.history ?? null };
    found.set(name, {
      ...{ name, hasCharter: places.charter !== null, hasHistory: places.history !== null },
      ...places,
    });
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Finds an agent by exact name, or else by the only name that differs in case. The name is compared and never used as
 * a path.
 */
function agentNamed<T extends { name: string }>(agents: readonly T[], name: string): T | null {
  const exact = agents.find(agent => agent.name === name);
  if (exact) return exact;
  const alike = agents.filter(agent => agent.name.toLowerCase() === name.toLowerCase());
  return alike.length === 1 ? alike[0]! : null;
}

/** Number of workspaces whose decisions are cached. Decisions are read often and expensive to parse. */
const MAX_CACHED = 16;

const TEAM_FILES = ['team.md', 'decisions.md', 'decisions/inbox', 'backlog.md'];

const NO_FOLDER = 'There is no .squad folder in this workspace. `squad init` creates one.';

/** Returns the memory of a workspace's team, by the root of the workspace. */
export function createTeamMemories(): (root: string) => TeamMemory {
  const cache = new Map<string, CachedDecisions>();
  const remember = (root: string, decisions: CachedDecisions) => {
    cache.delete(root);
    cache.set(root, decisions);
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value!);
    return decisions;
  };
  return root => ({
    hasFiles: async () => {
      const { folder } = await folderOf(root);
      return folder !== null && TEAM_FILES.some(name => existsSync(join(folder, name)));
    },
    roster: async () => {
      const read = await readNamed(root, 'team.md');
      if (read.text === null) return { members: [], notes: read.notes };
      const { members, notes } = await offThread('roster', readRoster, read.text.length, read.text);
      return { members, notes: [...read.notes, ...notes] };
    },
    backlog: async () => {
      const read = await readNamed(root, 'backlog.md');
      const revision = revisionOf(read.text);
      if (read.text === null) return { groups: [], notes: read.notes, revision };
      const { groups, notes } = await offThread('backlog', readBacklog, read.text.length, read.text);
      return { groups, notes: [...read.notes, ...notes], revision };
    },
    changeBacklog: async (edit, revision) => {
      const folder = await folderToWrite(root, 'The backlog cannot be changed');
      return changeBacklog(folder, edit, revision);
    },
    decisions: async () => {
      const { folder, note } = await folderOf(root);
      if (folder === null) return { decisions: [], notes: [note], revision: 'none' };
      return remember(root, await decisionsIn(folder, cache.get(root) ?? null));
    },
    agents: async () => {
      const { folder } = await folderOf(root);
      const found = folder === null ? [] : await agentsIn(folder);
      return found.map(({ name, hasCharter, hasHistory }) => ({ name, hasCharter, hasHistory }));
    },
    charter: name => ofAgent(root, name, 'charter'),
    history: async name => {
      const text = await ofAgent(root, name, 'history');
      return text === null ? null : offThread('history', readHistory, text.length, text);
    },
    record: async (decision, at) => {
      const folder = await folderToWrite(root, 'The decision cannot be recorded');
      return recordDecision(folder, decision, at);
    },
  });
}

async function folderOf(root: string): Promise<{ folder: string | null; note: string }> {
  try {
    return { folder: await teamFolder(root), note: NO_FOLDER };
  } catch (thrown) {
    return { folder: null, note: `${(thrown as Error).message}; it is not read.` };
  }
}

async function folderToWrite(root: string, message: string): Promise<string> {
  const { folder, note } = await folderOf(root);
  if (folder !== null) return folder;
  throw new SquadError('TEAM_MISSING', `${message} in ${root}: ${note}`, {
    suggestions: ['`squad init` creates the folder .squad in the workspace.'],
  });
}

async function readNamed(root: string, name: string): Promise<{ text: string | null; notes: string[] }> {
  const { folder, note } = await folderOf(root);
  if (folder === null) return { text: null, notes: [note] };
  const read = await readTeamText(folder, name, MAX_BYTES, 'beginning');
  if ('missing' in read) return { text: null, notes: [`There is no .squad/${name} yet.`] };
  if ('fault' in read) return { text: null, notes: [`.squad/${name} ${read.fault}`] };
  const { text, isCut } = firstLines(read.text, MAX_LINES);
  const left = `.squad/${name} is too long: only its beginning is read, at most ${MAX_BYTES} bytes and ${MAX_LINES} lines.`;
  return { text, notes: isCut || read.isCut ? [left] : [] };
}

async function ofAgent(root: string, name: string, what: 'charter' | 'history'): Promise<string | null> {
  const { folder } = await folderOf(root);
  const agent = folder === null ? null : agentNamed(await agentsIn(folder), name);
  const path = agent?.[what];
  if (!folder || !path) return null;
  // Reads only the end of a long history, because the end is the newest part. A charter is read from its start.
  const read = await readTeamText(folder, path, MAX_BYTES, what === 'history' ? 'end' : 'nothing');
  if (!('text' in read)) return null;
  if (what === 'charter') return read.text;
  const last = lastLines(read.text, MAX_LINES);
  return fromHeading({ text: last.text, isCut: read.isCut || last.isCut }).text;
}
