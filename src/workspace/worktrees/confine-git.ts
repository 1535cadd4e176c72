import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { realpath, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { Mount } from '../../core/ports/turns.ts';
import type { Worktree } from '../../schema/worktree.ts';
import { isInside, splitPaths } from '../files/paths.ts';
import { isPlainFile, readPlainFile } from '../files/text-file.ts';
import { outputLine } from '../git/commits.ts';
import { type Environment, type Git, GitError, gitIn, settingsOf } from '../git/git.ts';
import { indexOf } from '../git/git-index.ts';
import { readIgnoreRules } from '../git/git-status.ts';
import { configText, hasWorktreeConfig, type Setting, settingsForAgent } from '../git/private-git.ts';
import { AgentGit, isRefName, objectFolders } from './agent-git.ts';
import { collectInTurn, fileStamp, nothingToCollect } from './collect-commits.ts';
import { inspectPlace, repositoryPaths } from './worktree-place.ts';

interface Confinement {
  access: 'read' | 'write' | 'set-up';
  /** True if another sandboxed agent is using the work tree. Its Git folder must not be replaced then. */
  isInUse: boolean;
}

/**
 * Updates the Git folder of the work tree's agents from the repository, and returns all mounts for the work tree and
 * Git.
 */
export async function confineGit(
  worktree: Worktree,
  { access, isInUse }: Confinement,
  env: Environment,
): Promise<Mount[]> {
  const agent = new AgentGit(worktree.path);
  return agent.inTurn(async () => {
    const repository = await repositoryPaths(worktree);
    const place = repository && (await inspectPlace(worktree.path, repository.commonDir));
    if (place?.kind !== 'ready' && !(access === 'set-up' && place?.kind === 'unready'))
      throw new GitError(`the work tree ${worktree.path} is not complete`);
    const { gitDir } = place;
    // The path of the Git folder follows from the work tree's own path, because git in the sandbox searches for it
    // there.
    const commonDir = dirname(dirname(gitDir));
    const git = gitIn({ root: worktree.path, gitDir, commonDir }, env);
    const isNew = (await agent.state()) === null;
    if (isNew || !isInUse) await renew(worktree, agent, git, isNew);
    return mountsOf(worktree.path, agent, git, access === 'read' ? 'read' : 'write');
  });
}

async function renew(worktree: Worktree, agent: AgentGit, git: Git, isNew: boolean): Promise<void> {
  if (!isNew) await collectInTurn(agent, git.env, 'refs');
  const before = await agent.state();
  const { gitDir, commonDir } = git.folder;
  const ref = `refs/heads/${worktree.branch}`;
  const [{ refs, head, tip }, config, given, folders] = await Promise.all([
    readRepository(git, ref),
    agentConfig(git),
    agent.given(),
    objectFolders(join(commonDir, 'objects')),
  ]);
  const [rules, indexStamp, ...copies] = await Promise.all([
    readIgnoreRules(git),
    fileStamp(indexOf(git)),
    readPlainFile(join(commonDir, 'info', 'attributes')),
    readPlainFile(join(commonDir, 'shallow')),
    readPlainFile(join(gitDir, 'info', 'sparse-checkout')),
  ]);
  // The files are written synchronously, because there are many small files and a thread switch costs more than a
  // write.
  mkdirSync(agent.folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(agent.folder))
    if (name.startsWith(NEW)) rmSync(join(agent.folder, name), { recursive: true, force: true });
  const fresh = mkdtempSync(join(agent.folder, NEW));
  const own = join(fresh, 'worktrees', basename(gitDir));
  const theirs = before && agent.refs(before);
  for (const folder of ['refs/heads', 'refs/tags', 'info', 'hooks', 'objects', 'logs'])
    mkdirSync(join(fresh, folder), { recursive: true });
  for (const at of folders.keys()) mkdirSync(join(fresh, sharedObjects(at)));
  // Keeps the agent's logs, stashes and unfinished merge.
  if (before) agent.copyTo({ logs: join(fresh, 'logs'), own }, before);
  mkdirSync(join(own, 'logs'), { recursive: true });
  mkdirSync(join(own, 'modules'), { recursive: true });
  const kept = [...(theirs?.refs ?? [])].filter(
    ([name, oid]) => !refs.has(name) && name !== ref && given.get(name) !== oid && isRefName(name),
  );
  const listed = packed([...refs].filter(([name]) => name !== ref));
  const isUsers = head !== ref && head !== before?.detached;
  const isCurrent =
    before !== null &&
    !isUsers &&
    theirs?.refs.get(ref) === tip &&
    before.index !== null &&
    before.index === indexStamp;
  const files: [path: string, content: string | Buffer | null][] = [
    [join(fresh, 'HEAD'), 'ref: refs/heads/none\n'],
    [join(fresh, 'config'), Buffer.from(config, 'latin1')],
    [join(fresh, 'packed-refs'), listed + packed(kept)],
    [join(fresh, ref), `${tip}\n`],
    [join(fresh, 'info', 'exclude'), Buffer.from(rules ?? '', 'latin1')],
    [join(fresh, 'info', 'attributes'), copies[0]!],
    [join(fresh, 'shallow'), copies[1]!],
    [join(own, 'info', 'sparse-checkout'), copies[2]!],
    [join(own, 'commondir'), '../..\n'],
    [join(own, 'gitdir'), `${worktree.path}/.git\n`],
  ];
  if (!isCurrent) {
    const at = isUsers ? head : (theirs?.head ?? ref);
    files.push([join(own, 'HEAD'), at.startsWith('refs/') ? `ref: ${at}\n` : `${at}\n`]);
    copyIndex(indexOf(git), join(own, 'index'));
  }
  for (const [path, content] of files) if (content !== null) write(path, content);
  giveObjects(agent, folders.length);
  // The folder is created here, because a folder that git creates in the sandbox would not exist outside.
  mkdirSync(join(gitDir, 'modules'), { recursive: true });
  agent.giveRefs(listed);
  await agent.swap(fresh);
  const { path, branch } = worktree;
  const last = before ?? { commits: 0, notes: [], detached: null, index: null };
  const state = { ...last, path, branch, commonDir, gitDir, synced: tip, moving: null };
  agent.save(state);
  nothingToCollect(agent, state);
  await rm(agent.staging, { recursive: true, force: true });
}

const NEW = 'git.new-';
const sharedObjects = (at: number): string => `shared-objects-${at}`;

/** Reads HEAD, branch and refs through git, because refs may be packed and HEAD may be a link. */
async function readRepository(
  git: Git,
  ref: string,
): Promise<{ refs: Map<string, string>; head: string; tip: string }> {
  const format = '--format=%(objectname) %(HEAD) %(refname)';
  const rows = String(await git.run(['for-each-ref', format]))
    .split('\n')
    .slice(0, -1);
  const refs = new Map<string, string>();
  let head: string | null = null;
  for (const row of rows) {
    const [, oid, mark, name] = /^(\S+) (.) (.+)$/.exec(row) ?? [];
    if (!oid || !name) continue;
    refs.set(name, oid);
    if (mark === '*') head = name;
  }
  const tip = refs.get(ref);
  if (tip === undefined) throw new GitError(`the branch ${ref.replace('refs/heads/', '')} is gone`);
  return { refs, tip, head: head ?? outputLine(await git.run(['rev-parse', 'HEAD'])) };
}

const packed = (refs: (readonly [name: string, oid: string])[]): string =>
  refs.map(([name, oid]) => `${oid} ${name}\n`).join('');

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, content, { flag: 'wx' });
}

/** Keeps the time of the source, because git reads files again that are not older than the index. */
function copyIndex(from: string, to: string): void {
  rmSync(to, { force: true });
  const found = lstatSync(from, { throwIfNoEntry: false });
  if (!found?.isFile()) return;
  copyFileSync(from, to);
  utimesSync(to, found.atime, found.mtime);
}

function giveObjects(agent: AgentGit, count: number): void {
  mkdirSync(join(agent.objects, 'pack'), { recursive: true, mode: 0o700 });
  const info = join(agent.objects, 'info');
  rmSync(info, { recursive: true, force: true });
  mkdirSync(info);
  const lines = Array.from({ length: count }, (_, at) => `../${sharedObjects(at)}\n`);
  writeFileSync(join(info, 'alternates'), lines.join(''), { flag: 'wx' });
}

async function agentConfig(git: Git): Promise<string> {
  const { commonDir, gitDir, root } = git.folder;
  const config = await settingsOf(join(commonDir, 'config'), git.env);
  if (config === null) throw new GitError('the configuration of the repository cannot be read');
  const storage = config.findLast(({ key }) => key === 'extensions.refstorage')?.value ?? 'files';
  if (storage !== 'files')
    throw new GitError(`its refs are stored as ${storage}, which a sandboxed run cannot use yet`);
  const own = hasWorktreeConfig(config) ? await settingsOf(join(gitDir, 'config.worktree'), git.env) : [];
  const hooks = [...config, ...(own ?? [])].findLast(({ key }) => key === 'core.hookspath')?.value;
  const main = basename(commonDir) === '.git' ? dirname(commonDir) : root;
  const settings: Setting[] = [
    // Default author. Without one git would derive an address from the host's name, which a sandbox hides.
    { key: 'user.name', value: 'Agent' },
    { key: 'user.email', value: 'agent@localhost' },
    ...(await usersSettings(git)),
    ...settingsForAgent(config, own ?? []),
    ...hooksSetting(hooks ?? null, main),
    { key: 'gc.auto', value: '0' },
    { key: 'maintenance.auto', value: 'false' },
    { key: 'core.logallrefupdates', value: 'true' },
  ];
  return configText(settings);
}

/**
 * Keeps `core.hooksPath` if it leads into the repository, because the same hooks are in the work tree. Other folders
 * are not visible in a sandbox.
 */
function hooksSetting(path: string | null, main: string): Setting[] {
  if (path === null || path === '' || path.startsWith('~')) return [];
  const value = isAbsolute(path) ? (isInside(main, path) ? relative(main, path) : null) : path;
  return value === null || value === '' ? [] : [{ key: 'core.hookspath', value }];
}

/**
 * The user's settings for the author of commits and for filters such as Git LFS. Without the filters, git in the
 * sandbox would commit different content.
 */
async function usersSettings(git: Git): Promise<Setting[]> {
  const { HOME, XDG_CONFIG_HOME } = git.env;
  const files = [
    ...(XDG_CONFIG_HOME || HOME ? [join(XDG_CONFIG_HOME || join(HOME!, '.config'), 'git', 'config')] : []),
    ...(HOME ? [join(HOME, '.gitconfig')] : []),
  ];
  const found = await Promise.all(
    files.map(async file => {
      const settings = await settingsOf(file, git.env).catch(() => null);
      if (!settings?.some(({ key }) => key.startsWith('include'))) return settings ?? [];
      const args = ['config', '--file', file, '--includes', '--list', '-z'];
      const list = splitPaths(await git.run(args).catch(() => Buffer.alloc(0)));
      return list.map(each => {
        const [key = '', ...value] = each.split('\n');
        return { key, value: value.join('\n') };
      });
    }),
  );
  return found.flat().filter(({ key }) => USERS.test(key));
}

const USERS = /^(user\.(name|email)|filter\..+\.(clean|smudge|process|required))$/s;

async function mountsOf(
  path: string,
  agent: AgentGit,
  { folder: { commonDir, gitDir } }: Git,
  access: Mount['access'],
): Promise<Mount[]> {
  const folders = await objectFolders(join(commonDir, 'objects'));
  const empty = join(agent.folder, 'empty');
  if (!existsSync(empty)) writeFileSync(empty, '');
  const hooks = await realpath(join(commonDir, 'hooks')).catch(() => null);
  const shared: Mount[] = [];
  for (const [at, from] of folders.entries()) {
    const inside = join(commonDir, sharedObjects(at));
    shared.push({ path: inside, from, access: 'read' });
    // The agent's git already gets a list of all object folders. Paths in this file do not exist inside the sandbox, so
    // an empty file hides it.
    if (await isPlainFile(join(from, 'info', 'alternates')))
      shared.push({ path: join(inside, 'info', 'alternates'), from: empty, access: 'read' });
  }
  const modules = join(gitDir, 'modules');
  return [
    { path, from: path, access },
    { path: join(path, '.git'), from: join(path, '.git'), access: 'read' },
    { path: commonDir, from: agent.git, access },
    { path: join(commonDir, 'objects'), from: agent.objects, access },
    ...shared,
    ...(hooks ? [{ path: join(commonDir, 'hooks'), from: hooks, access: 'read' as const }] : []),
    { path: modules, from: modules, access },
  ];
}
