import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInside, splitPaths } from '../files/paths.ts';
import { readBounded } from '../files/text-file.ts';
import type { GitFolder } from './git-folder.ts';

/** A git setting, one character per byte. A null value means a name without a value, which git reads as true. */
export interface Setting {
  key: string;
  value: string | null;
}

/** Parses the output of `git config --list -z`. */
export function settingsIn(list: Buffer): Setting[] {
  return splitPaths(list).map(entry => {
    const at = entry.indexOf('\n');
    return at === -1 ? { key: entry, value: null } : { key: entry.slice(0, at), value: entry.slice(at + 1) };
  });
}

/**
 * Settings of a repository that Squad's git may use: none that names a program, a work tree or another configuration
 * file.
 */
function harmless(settings: readonly Setting[]): Setting[] {
  return settings.flatMap(({ key, value }) => {
    if (PLAIN.has(key) || NAMED.test(key)) return [{ key, value }];
    if (/^extensions\.[^.]+$/.test(key) && key !== WORKTREE_CONFIG) return [{ key, value }];
    // A merge driver is replaced by a failing one, so that its files conflict and a person merges them.
    return /^merge\..*\.driver$/s.test(key) ? [{ key, value: 'false' }] : [];
  });
}

/** Like `harmless`, for the configuration of one work tree. */
const harmlessInWorktree = (settings: readonly Setting[]): Setting[] =>
  harmless(settings).filter(({ key }) => !FORMAT.test(key));

export const hasWorktreeConfig = (settings: readonly Setting[]): boolean => {
  const last = settings.findLast(({ key }) => key === WORKTREE_CONFIG);
  return last !== undefined && (last.value === null || /^(true|yes|on|[1-9]\d*)$/i.test(last.value));
};

/** Writes a configuration file that git reads as exactly these settings. */
export const configText = (settings: readonly Setting[]): string =>
  settings.map(({ key, value }) => `${header(key)}\n\t${nameOf(key)}${quoted(value)}\n`).join('');

/**
 * Settings for the git of a sandboxed agent. Programs that they name run inside the sandbox. Settings with
 * credentials, or that lead to a file outside, are left out.
 */
export function settingsForAgent(config: readonly Setting[], own: readonly Setting[]): Setting[] {
  const shared = config.flatMap(each => (FOR_AGENT.test(each.key) ? [each] : harmless([each])));
  const all = [...shared, ...harmlessInWorktree(own)];
  return all.flatMap(({ key, value }) => {
    if (OUTSIDE.has(key)) return [];
    return [{ key, value: /^remote\..+\.(push)?url$/s.test(key) ? withoutUserinfo(value) : value }];
  });
}

const FOR_AGENT =
  /^(filter\..+\.(clean|smudge|process|required)|merge\..+\.(driver|name)|remote\..+\.fetch|branch\..+\.merge)$/s;
const OUTSIDE = new Set(['core.excludesfile', 'core.attributesfile']);

/**
 * Turns `https://user:token@host/x?key=y` into `https://host/x`. The user name of an SSH address stays, because it is
 * not secret.
 */
function withoutUserinfo(url: string | null): string | null {
  const [, scheme, userinfo, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^/]*)@)?(.*)$/is.exec(url ?? '') ?? [];
  if (scheme === undefined || rest === undefined) return url;
  const user = /^(git\+)?ssh(\+git)?:/i.test(scheme) ? userinfo?.split(':')[0] : undefined;
  const plain = /^https?:/i.test(scheme) ? rest.replace(/[?#].*$/s, '') : rest;
  return `${scheme}${user ? `${user}@` : ''}${plain}`;
}

const WORKTREE_CONFIG = 'extensions.worktreeconfig';
const FORMAT = /^(extensions\.|core\.(bare|repositoryformatversion)$)/;
const NAMED = /^(remote\..+\.(url|pushurl|promisor|partialclonefilter)|branch\..+\.remote)$/s;
const PLAIN = new Set([
  ...['user.name', 'user.email', 'index.sparse'],
  ...['merge.renames', 'merge.renamelimit', 'merge.directoryrenames', 'merge.renormalize'],
  ...[
    ...['repositoryformatversion', 'bare', 'filemode', 'symlinks', 'ignorecase', 'precomposeunicode'],
    ...['protecthfs', 'protectntfs', 'trustctime', 'checkstat', 'autocrlf', 'eol', 'safecrlf'],
    ...['sparsecheckout', 'sparsecheckoutcone', 'logallrefupdates', 'sharedrepository', 'usereplacerefs'],
    ...['excludesfile', 'attributesfile'],
  ].map(name => `core.${name}`),
]);

const nameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

function header(key: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  if (first === last) return `[${key.slice(0, first)}]`;
  return `[${key.slice(0, first)} "${key.slice(first + 1, last).replaceAll(/["\\]/g, '\\$&')}"]`;
}

const quoted = (value: string | null): string =>
  value === null ? '' : ` = "${value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;

type ReadSettings = (config: Buffer) => Promise<Setting[]>;

let parent: string | null = null;

/**
 * Sets the parent folder, to which no agent can write. The default is a temporary folder that is deleted when this
 * process ends.
 */
export function keepPrivateGitIn(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  parent = realpathSync(folder);
  for (const name of readdirSync(parent)) if (isLeft(join(parent, name))) remove(join(parent, name));
}

/** Whether a path is inside one of the git folders that Squad creates for its own git. */
export const isPrivateGit = (path: string): boolean => parent !== null && isInside(parent, path);

/**
 * Folder that Squad's git uses as the common git folder of a repository: links to its content, and Squad's own
 * configuration file. Null if the repository's configuration cannot be read. It is read again for each call, because
 * an agent may have changed it.
 */
export async function privateGit(folder: GitFolder, read: ReadSettings): Promise<string | null> {
  const config = await settingsAt(join(folder.commonDir, 'config'), read);
  if (config === null) return null;
  const isPerWorktree = hasWorktreeConfig(config);
  const own = isPerWorktree ? await settingsAt(join(folder.gitDir, 'config.worktree'), read) : [];
  if (own === null) return null;
  const place = placeOf(folder, isPerWorktree);
  write(place, folder.commonDir, configText([...harmless(config), ...harmlessInWorktree(own)]));
  return place;
}

const MAX_CACHED = 500;
const known = new Map<string, Promise<Setting[]>>();
const written = new Map<string, string>();

/** Cached by content, so that the usual call needs no git process. */
export async function settingsAt(path: string, read: ReadSettings): Promise<Setting[] | null> {
  const config = readBounded(path);
  if (config === 'missing') return [];
  if (config === 'unfit') return null;
  const text = config.toString('latin1');
  const found = known.get(text);
  if (found) return found;
  const settings = read(config);
  remember(known, text, settings);
  return settings.catch(error => {
    known.delete(text);
    throw error;
  });
}

function placeOf({ commonDir, gitDir }: GitFolder, isPerWorktree: boolean): string {
  parent ??= temporary();
  const key = isPerWorktree ? `${commonDir}\0${gitDir}` : commonDir;
  return join(parent, createHash('sha256').update(key).digest('hex').slice(0, 32), '.git');
}

/** Everything that git reads there, except hooks, settings and files for commands that Squad does not use. */
const LINKS = [
  ...['HEAD', 'objects', 'refs', 'packed-refs', 'reftable', 'logs'],
  ...['worktrees', 'info', 'shallow', 'modules'],
];

/** Writes the configuration synchronously, so that the cache always matches the disk. */
function write(place: string, commonDir: string, config: string): void {
  const file = join(place, 'config');
  if (written.get(place) === config && existsSync(file)) return;
  mkdirSync(place, { recursive: true, mode: 0o700 });
  // A link may be broken at first. Git follows it once its target exists.
  for (const name of LINKS) link(join(commonDir, name), join(place, name));
  writeFileSync(`${file}.new`, config, { encoding: 'latin1', mode: 0o600 });
  renameSync(`${file}.new`, file);
  remember(written, place, config);
}

function link(target: string, path: string): void {
  if (!lstatSync(path, { throwIfNoEntry: false })) symlinkSync(target, path);
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size >= MAX_CACHED) map.clear();
  map.set(key, value);
}

/** Whether the repository that the folder belonged to no longer exists. */
function isLeft(folder: string): boolean {
  const objects = join(folder, '.git', 'objects');
  return lstatSync(objects, { throwIfNoEntry: false }) !== undefined && !existsSync(objects);
}

function temporary(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-private-git-')));
  process.once('exit', () => remove(folder));
  return folder;
}

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });
