import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { z } from 'zod';
import {
  environmentFilePath,
  isEnvironmentFileEdited,
  removeEnvironmentFile,
} from '../../../link/environment-file.ts';
import { ownFolder } from '../../../link/home.ts';
import { replaceFile } from '../../../link/replace-file.ts';
import { SquadError } from '../../../schema/error.ts';
import { shellWord } from '../../../schema/shell-word.ts';
import {
  missingFolders,
  readClientFile,
  removeClientFile,
  removeEmptyFolder,
  withClientLock,
  writeClientFile,
} from './client-file.ts';
import { CLIENT_NAMES, type Client, type ClientName, clientNamed, type InstallContext } from './clients.ts';

interface InstallPlan {
  client: ClientName;
  file: string;
  /** Text of the client's file before the install. Null if the file will be created. */
  before: string | null;
  after: string;
  /** The text of the client's file with Squad's entry in it. */
  withEntry(before: string | null): string;
  /** Unified diff of the change. Empty if nothing changes. */
  diff: string;
  changed: boolean;
  modeIfNew: number;
  /** Next steps for the user. */
  next: string;
}

const BOM = '\uFEFF';

/** Plans an install. Reads the client's file and writes nothing. */
export function plan(name: ClientName, context: InstallContext): InstallPlan {
  const client = clientNamed(name);
  const file = chooseFile(client, name, context);
  const before = readClientFile(file);
  const putEntry = (text: string | null) => edit(file, text ?? '', bare => withEntry(client, context, bare));
  const after = putEntry(before);
  const changed = after !== before;
  return {
    client: name,
    file,
    before,
    after,
    withEntry: putEntry,
    diff: changed ? unifiedDiff(file, before, after) : '',
    changed,
    modeIfNew: context.project ? 0o644 : 0o600,
    next: [
      client.next(context),
      ...(client.headless === undefined ? [] : [`In a script, allow the tools: \`${client.headless}\``]),
    ].join('\n'),
  };
}

/**
 * Removes Squad's entry, and the table around it if the install created it. Returns the text unchanged if it has no
 * entry.
 */
function withoutEntry(name: ClientName, file: string, text: string, before: string | null): string {
  const { format, entryPath } = clientNamed(name);
  const table = entryPath.slice(0, 1);
  return edit(file, text, bare => {
    const rest = format.remove(bare, entryPath);
    if (rest === bare || format.fields(rest, table)?.length !== 0) return rest;
    const hadTable = before !== null && format.fields(before.replace(BOM, ''), table) !== null;
    return hadTable ? rest : format.remove(rest, table);
  });
}

function withEntry({ format, entryPath, entry }: Client, context: InstallContext, text: string): string {
  // An entry with a URL is removed first. Otherwise the new entry would have both a command and a URL.
  const isRemote = format.fields(text, entryPath)?.some(field => /url$/i.test(field)) ?? false;
  return format.put(isRemote ? format.remove(text, entryPath) : text, entryPath, entry(context));
}

function chooseFile(client: Client, name: ClientName, context: InstallContext): string {
  const { project } = context;
  const files = project ? client.projectFiles.map(file => join(project, file)) : client.userFiles(context);
  const file = files.find(candidate => existsSync(candidate)) ?? files[0];
  if (file) return file;
  throw new SquadError('INVALID_INPUT', `${client.title} does not support settings for one project.`, {
    suggestions: [`Run \`squad install ${shellWord(name)}\` without --project to install for your user.`],
  });
}

/** Adds the file name to errors, and hides a byte order mark from the parsers. */
function edit(file: string, text: string, change: (text: string) => string): string {
  const mark = text.startsWith(BOM) ? BOM : '';
  try {
    return mark + change(text.slice(mark.length));
  } catch (error) {
    if (!(error instanceof SquadError)) throw error;
    throw new SquadError(error.code, `${file}, ${error.message}`, {
      suggestions: error.suggestions,
      cause: error,
    });
  }
}

const unifiedDiff = (file: string, before: string | null, after: string) =>
  createTwoFilesPatch(before === null ? '/dev/null' : file, file, before ?? '', after, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });

/** Only the added and removed lines of a diff. */
const changedLines = (diff: string): string =>
  diff
    .split('\n')
    .filter(line => /^[+-](?!\+\+ |-- )/.test(line))
    .join('\n');

/** Runs `work` while the client does not change the file, if the client takes a lock to do so. */
const whileLocked = <T>(client: ClientName, file: string, work: () => T): Promise<T> =>
  withClientLock(clientNamed(client).takesLock ? `${file}.lock` : null, work);

const Backup = z.object({
  file: z.string(),
  /** Text of the client's file before the install. Null if the install created the file. */
  before: z.string().nullable(),
  afterHash: z.string(),
  /** Folders the install created for the file, innermost first. */
  madeFolders: z.array(z.string()).default([]),
});
type Backup = z.infer<typeof Backup>;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Readable by the owner only, because the file may contain keys. Returns the path of the backup. */
function saveBackup(folder: string, client: ClientName, backup: Backup, now: number): string {
  ownFolder(folder);
  let time = now;
  while (existsSync(backupPath(folder, client, time))) time++;
  const path = backupPath(folder, client, time);
  replaceFile(path, `${JSON.stringify(backup, null, 2)}\n`, 0o600);
  return path;
}

/** The last install of a client that was not undone. With `project`, the last one in that folder. */
function lastBackup(
  folder: string,
  client: ClientName,
  project?: string,
): { path: string; backup: Backup } | null {
  const paths = backups(folder)
    .filter(name => name.startsWith(`${client}-2`))
    .sort()
    .map(name => join(folder, name));
  const installs = paths.map(path => ({
    path,
    backup: Backup.parse(JSON.parse(readFileSync(path, 'utf8'))),
  }));
  const isWanted = ({ backup }: { backup: Backup }) =>
    project === undefined || backup.file.startsWith(join(project, sep));
  return installs.findLast(isWanted) ?? null;
}

/** Clients with an install that can be undone, in alphabetical order. */
const installedClients = (folder: string): string[] =>
  [...new Set(backups(folder).map(name => name.replace(/-2\d{3}-.*$/, '')))].sort();

/**
 * Installs whose entry has disappeared from the client's file, because an open client wrote its own copy over the
 * file.
 */
export function lostInstalls(folder: string): { client: ClientName; file: string }[] {
  return CLIENT_NAMES.flatMap(client => {
    const last = lastBackup(folder, client);
    if (last === null) return [];
    const { file } = last.backup;
    try {
      return fieldsOf(client, readClientFile(file)) === null ? [{ client, file }] : [];
    } catch {
      return []; // the file is not valid, which the client itself reports
    }
  });
}

function fieldsOf(client: ClientName, text: string | null): string[] | null {
  const { format, entryPath } = clientNamed(client);
  return format.fields(text?.replace(BOM, '') ?? '', entryPath);
}

const backups = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.json')) : [];

/** The time in the name makes the files sort by time. */
const backupPath = (folder: string, client: ClientName, time: number) =>
  join(folder, `${client}-${new Date(time).toISOString().replace(/[:.]/g, '-')}.json`);

/**
 * Writes the planned change and a backup to undo it. Does nothing if the plan changes nothing. With `settleMs`, for a
 * client that is open, it watches the file until the entry stayed there for that time. Returns how often the client had
 * overwritten it.
 */
export async function apply(
  plan: InstallPlan,
  backupFolder: string,
  now = Date.now(),
  settleMs = 0,
): Promise<number> {
  if (!plan.changed) return 0;
  const { client, file, modeIfNew } = plan;
  const madeFolders = missingFolders(file);
  const backup = await whileLocked(client, file, () => {
    const before = readClientFile(file);
    const after = plan.withEntry(before);
    if (!isSameChange(plan, before, after))
      throw notWritten(client, `${file} changed after the diff was shown. Nothing was written.`);
    // The backup is written first, so that an interrupted install can be undone.
    const afterHash = hashOf(after);
    const path = saveBackup(backupFolder, client, { file, before, afterHash, madeFolders }, now);
    try {
      writeClientFile(file, after, modeIfNew);
      return path;
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
  });
  const giveUp = () => {
    rmSync(backup, { force: true });
    throw notWritten(
      client,
      `${clientNamed(client).title} is open and keeps removing the entry from ${file}.`,
    );
  };
  return settleMs === 0 ? 0 : keepChange({ ...plan, change: plan.withEntry, giveUp }, settleMs);
}

/** An open client often changes other parts of its file after the user agreed to the change of Squad's entry. */
function isSameChange(
  { client, file, before: planned, diff }: InstallPlan,
  before: string | null,
  after: string,
) {
  if (before === planned) return true;
  const isNewEntry = [planned, before].every(text => fieldsOf(client, text) === null);
  return isNewEntry || changedLines(unifiedDiff(file, before, after)) === changedLines(diff);
}

/** A client rewrites its file a few times while it starts. If it does so more often, it will not stop. */
const MAX_REWRITES = 5;
const LOOK_EVERY_MS = 50;

interface KeptChange {
  client: ClientName;
  file: string;
  modeIfNew: number;
  /** Applies the change. Returns the text unchanged if it already has the change. */
  change(text: string | null): string;
  giveUp(): never;
}

/** Makes a change again if the client writes an old copy of the file over it. Returns how often. */
async function keepChange(kept: KeptChange, settleMs: number): Promise<number> {
  const { client, file, modeIfNew, change, giveUp } = kept;
  let rewrites = 0;
  for (let since = performance.now(); performance.now() - since < settleMs; await pause(LOOK_EVERY_MS)) {
    if (isWritten(kept)) continue;
    if (rewrites === MAX_REWRITES) giveUp();
    await whileLocked(client, file, () => writeClientFile(file, change(readClientFile(file)), modeIfNew));
    rewrites++;
    since = performance.now();
  }
  return rewrites;
}

/**
 * Whether the file has the change. True also for a file that does not parse, because the client is still writing it.
 */
function isWritten({ file, change }: KeptChange): boolean {
  try {
    const text = readClientFile(file);
    return change(text) === (text ?? '');
  } catch {
    return true;
  }
}

const notWritten = (client: ClientName, message: string, flag = '') =>
  new SquadError('CONFIG_INVALID', message, {
    suggestions: [`Close the client, then run \`squad install ${shellWord(client)}${flag}\` again.`],
  });

interface UndoResult {
  outcome: 'restored' | 'deleted' | 'entry_removed' | 'nothing';
  file: string | null;
  message: string;
}

/**
 * Undoes the last install of a client, with `project` the last one in that folder. Keeps later changes to the file. With
 * `settleMs`, for a client that is open, it watches the file until the entry stayed away for that time.
 */
export async function undo(
  client: ClientName,
  backupFolder: string,
  project?: string,
  settleMs = 0,
): Promise<UndoResult> {
  const last = lastBackup(backupFolder, client, project);
  if (!last) {
    const where = project === undefined ? '' : ` in ${project}`;
    return {
      outcome: 'nothing',
      file: null,
      message: `Nothing to undo: no install for ${client}${where} is recorded.`,
    };
  }
  const { file, before, madeFolders } = last.backup;
  const result = await whileLocked(client, file, () => restore(client, last.backup));
  // An entry from before the install stays.
  if (settleMs > 0 && fieldsOf(client, before) === null) {
    const change = (text: string | null) => (text === null ? '' : withoutEntry(client, file, text, before));
    const message = `${clientNamed(client).title} is open and keeps writing the entry to ${file}.`;
    const giveUp = () => {
      throw notWritten(client, message, ' --undo');
    };
    await keepChange({ client, file, modeIfNew: 0o600, change, giveUp }, settleMs);
  }
  rmSync(last.path, { force: true });
  removeEmptyFolder(backupFolder);
  if (readClientFile(file) !== null) return { ...result, file };
  const folders = madeFolders.map(folder =>
    removeEmptyFolder(folder)
      ? `Removed the folder ${folder}.`
      : `Kept the folder ${folder}, which is not empty.`,
  );
  return { ...result, file, message: [result.message, ...folders].join('\n') };
}

function restore(client: ClientName, { file, before, afterHash }: Backup): Omit<UndoResult, 'file'> {
  const current = readClientFile(file);
  if (current === null || current === before)
    return {
      outcome: 'nothing',
      message: `Nothing to undo: the entry of that install is no longer in ${file}.`,
    };
  if (hashOf(current) === afterHash && before !== null) {
    writeClientFile(file, before, 0o600);
    return { outcome: 'restored', message: `Restored ${file}.` };
  }
  const rest = withoutEntry(client, file, current, before);
  if (rest === current)
    return { outcome: 'nothing', message: `Nothing to undo: ${file} has no Squad entry.` };
  if (before === null && isEmpty(rest)) {
    removeClientFile(file);
    return { outcome: 'deleted', message: `Removed ${file}, which the install had created.` };
  }
  writeClientFile(file, rest, 0o600);
  return {
    outcome: 'entry_removed',
    message: `${file} changed since the install, so only the Squad entry was removed.`,
  };
}

/** True for a file that contains at most the braces of an empty JSON object. */
const isEmpty = (text: string): boolean => /^\uFEFF?\s*(\{\s*\})?\s*$/.test(text);

/**
 * Removes the environment file when no installed client needs it any more, because all of them share it. Returns a
 * text that says what was done. Null if there was no file.
 */
export function undoEnvironment(home: string, backupFolder: string): string | null {
  const clients = installedClients(backupFolder);
  const file = environmentFilePath(home);
  if (clients.length === 0) {
    if (isEnvironmentFileEdited(home)) return `Kept ${file}: you edited it. Delete it if you do not need it.`;
    return removeEnvironmentFile(home) ? `Removed ${file}.` : null;
  }
  return `Kept ${file}, which ${clients.join(', ')} still ${clients.length === 1 ? 'uses' : 'use'}.`;
}
