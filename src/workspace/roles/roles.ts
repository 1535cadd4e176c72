import { readdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { nearest } from '../../base/text.ts';
import { offThread } from '../../core/off-thread.ts';
import type { Setting } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { grantingKeys, type Role, type RoleMeta } from '../../schema/role.ts';
import { resolveInside } from '../files/paths.ts';
import { readTextFile } from '../files/text-file.ts';
import { type Frontmatter, headLength, readFrontmatter } from './frontmatter.ts';

/** All roles of the folder, sorted by id. A role that cannot be used has a fault. */
export async function readRoles(folder: RolesFolder, isTrusted: Trust): Promise<Role[]> {
  const files = await roleFiles(folder);
  const roles: Role[] = [];
  // Files are read one at a time, because there may be a thousand.
  for (const file of files.values()) roles.push(await readRoleFile(folder, file, isTrusted));
  return roles;
}

/** Throws ROLE_UNKNOWN and ROLE_INVALID. */
export async function readRole(folder: RolesFolder, id: string, isTrusted: Trust): Promise<Role> {
  const files = await roleFiles(folder);
  // The id is looked up in the list of files and never used as a path.
  const file = files.get(id);
  if (!file) throw unknown(folder, id, [...files.keys()]);
  const role = await readRoleFile(folder, file, isTrusted);
  if (role.fault !== null)
    throw new SquadError('ROLE_INVALID', `The role "${id}" cannot be run: ${role.file}: ${role.fault}.`, {
      suggestions: ['Fix the file, then try again. `squad roles` shows every fault.'],
    });
  return role;
}

/** Whether the user trusts this content of the file. */
export type Trust = (file: string, text: string) => Promise<boolean>;

interface RoleFile {
  id: string;
  file: string;
  warnings: string[];
}

/** Sorted by id, in the same order on every machine. */
async function roleFiles({ directory, charters }: RolesFolder): Promise<Map<string, RoleFile>> {
  const found = new Map<string, RoleFile>();
  const entries = await readdir(directory, { withFileTypes: true }).catch(thrown => {
    throw unreadable(directory, thrown);
  });
  for (const entry of entries) {
    if (entry.name.startsWith('.') || !entry.name.endsWith('.md') || entry.isDirectory()) continue;
    const id = entry.name.slice(0, -'.md'.length);
    found.set(id, { id, file: join(directory, entry.name), warnings: [] });
  }
  for (const entry of charters ? entries : []) {
    if (entry.name.startsWith('.') || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
    const file = join(directory, entry.name, 'charter.md');
    if (!(await exists(file))) continue;
    const sameId = found.get(entry.name);
    if (sameId) sameId.warnings.push(`${file} has the same id and is not used`);
    else found.set(entry.name, { id: entry.name, file, warnings: [] });
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function readRoleFile(
  folder: RolesFolder,
  { id, file, warnings }: RoleFile,
  isTrusted: Trust,
): Promise<Role> {
  const broken = (fault: string): Role => ({
    id,
    name: id,
    description: '',
    body: '',
    meta: {},
    file,
    fault,
    warnings,
    ungranted: [],
    wantedMcp: [],
  });
  const [fault, read] = await Promise.all([linkFault(folder.directory, file), readTextFile(file)]);
  if (fault !== null) return broken(fault);
  if ('missing' in read) return broken('was removed while it was read');
  if ('fault' in read) return broken(read.fault);
  const head = await headOf(read.text);
  if ('fault' in head) return broken(head.fault);
  const { body } = head;
  const grants = grantingKeys(head.meta);
  const { sandbox, network } = head.meta;
  const matters = grants.length > 0 || sandbox !== undefined || network !== undefined;
  const isUntrusted = matters && !(await isTrusted(file, read.text));
  const ungranted = isUntrusted ? grants : [];
  const meta = Object.fromEntries(
    Object.entries(head.meta).filter(([key]) => !(ungranted as string[]).includes(key)),
  ) as RoleMeta;
  return {
    id,
    name: meta.name?.trim() || id,
    description: meta.description?.trim() ?? '',
    body,
    meta,
    file,
    fault: null,
    warnings: [
      ...warnings,
      ...head.warnings,
      ...(body === '' ? ['the role has no body'] : []),
      ...ungranted.map(key => `"${key}" has no effect until you trust the file: \`squad trust\``),
    ],
    ungranted,
    ...(isUntrusted && { isUntrusted }),
    wantedMcp: head.meta.mcp ?? [],
  };
}

const MAX_HEADS = 50;
const heads = new Map<string, Promise<Frontmatter>>();

/** Caches the frontmatter of each text, because a role is read at every start and seldom changed. */
function headOf(text: string): Promise<Frontmatter> {
  const known = heads.get(text);
  if (known) return known;
  const head = offThread('role', readFrontmatter, headLength(text), text);
  if (heads.size >= MAX_HEADS) heads.clear();
  heads.set(text, head);
  head.catch(() => heads.delete(text));
  return head;
}

/** A link in a repository must not include a file from elsewhere on the machine. */
async function linkFault(directory: string, file: string): Promise<string | null> {
  const place = await resolveInside(directory, file);
  if ('outside' in place) return 'is a symbolic link out of the roles folder';
  if ('missing' in place) return 'is a symbolic link that leads nowhere';
  return 'fault' in place ? place.fault : null;
}

async function exists(file: string): Promise<boolean> {
  return realpath(file).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => thrown.code !== 'ENOENT' && thrown.code !== 'ENOTDIR',
  );
}

/** Error for a roles folder that was removed while it was read, for example by a checkout. */
function unreadable(directory: string, thrown: NodeJS.ErrnoException): unknown {
  if (thrown.code !== 'ENOENT' && thrown.code !== 'ENOTDIR') return thrown;
  return new SquadError('ROLES_MISSING', `The roles folder ${directory} was removed while it was read.`, {
    cause: thrown,
    suggestions: ['Put the folder back, or run `squad init` to create one, then try again.'],
  });
}

/** Agents and HTTP clients read these texts too, so they contain no path of the machine. */
const PLACES: Record<RolesFolder['from'], string> = {
  workspace: 'in agents/',
  squad_folder: 'in .squad/agents/',
  setting: 'in the configured roles folder (`squad roles` shows its path)',
  shipped: 'among the roles that come with Squad',
};

function unknown(folder: RolesFolder, id: string, ids: string[]): SquadError {
  const near = nearest(id, ids);
  const shown = JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
  return new SquadError('ROLE_UNKNOWN', `There is no role ${shown} ${PLACES[folder.from]}.`, {
    suggestions: [
      ...(near.length > 0 ? [`Did you mean ${near.join(', ')}?`] : []),
      ids.length > 0 && ids.length <= 12
        ? `The roles are: ${ids.join(', ')}.`
        : 'List the roles: `squad roles` or list_roles.',
    ],
  });
}

export interface RolesFolder {
  directory: string;
  from: 'setting' | 'workspace' | 'squad_folder' | 'shipped';
  /** Why this folder is used, for people. */
  why: string;
  /** Whether roles may also be in files `<id>/charter.md`. */
  charters: boolean;
}

/** The roles folder that the user named, which must exist. Null if the user named none. */
export async function namedRolesFolder(
  workspace: string,
  { value, source }: Setting<string | null>,
): Promise<RolesFolder | null> {
  return value === null ? null : named(resolve(workspace, value), source);
}

/** The first roles folder that exists. */
export async function rolesFolder(workspace: string, shippedDir: string): Promise<RolesFolder> {
  const own = { from: 'workspace', why: 'the workspace has agents/', charters: false } as const;
  const squad = { from: 'squad_folder', why: 'the workspace has .squad/agents/', charters: true } as const;
  const shipped = { from: 'shipped', why: 'the workspace has no roles of its own', charters: false } as const;
  const folders = [
    { directory: join(workspace, 'agents'), ...own },
    { directory: join(workspace, '.squad', 'agents'), ...squad },
    { directory: shippedDir, ...shipped },
  ];
  const isThere = await Promise.all(folders.map(({ directory }) => isFolder(directory)));
  const found = folders.find((_, at) => isThere[at]);
  if (found) return found;
  throw new SquadError(
    'ROLES_MISSING',
    `There is no roles folder in ${workspace}, and the roles that come with Squad are missing.`,
    {
      suggestions: ['Reinstall Squad, create agents/ in the workspace, or set SQUAD_AGENTS_DIR.'],
    },
  );
}

async function named(directory: string, source: string): Promise<RolesFolder> {
  if (!(await isFolder(directory)))
    throw new SquadError(
      'ROLES_MISSING',
      `The roles folder ${directory}, set in ${source}, does not exist.`,
      {
        suggestions: [`Create the folder, or change or remove the setting in ${source}.`],
      },
    );
  const charters = directory.endsWith(join('.squad', 'agents'));
  return { directory, from: 'setting', why: `set in ${source}`, charters };
}

async function isFolder(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => null);
  return info?.isDirectory() ?? false;
}
