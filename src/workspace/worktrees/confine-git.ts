import { existsSync } from 'node:fs';
import { cp, lstat, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
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
import { AgentGit, type AgentGitState, isRefName, objectFolders } from './agent-git.ts';
import { collectInTurn, fileStamp } from './collect-commits.ts';
import { inspectPlace, repositoryPaths } from './worktree-place.ts';

interface Confinement {
  access: 'read' | 'write';
  /** Another sandboxed agent is in the work tree: its Git folder stays as it is. */
  isInUse: boolean;
}

/** Makes the Git folder of the work tree's agents like the repository is now, and returns all mounts of work tree and Git. */
export async function confineGit(
  worktree: Worktree,
  { access, isInUse }: Confinement,
  env: Environment,
): Promise<Mount[]> {
  const agent = new AgentGit(worktree.path);
  return agent.inTurn(async () => {
    const repository = await repositoryPaths(worktree);
    const place = repository && (await inspectPlace(worktree.path, repository.commonDir));
    if (place?.kind !== 'ready') throw new GitError(`the work tree ${worktree.path} is not complete`);
    const { gitDir } = place;
    // As the work tree names it: git in the sandbox looks for it there.
    const commonDir = dirname(dirname(gitDir));
    const git = gitIn({ root: worktree.path, gitDir, commonDir }, env);
    const before = await agent.state();
    if (!before || !isInUse) await renew(worktree, agent, git, before);
    return mountsOf(worktree.path, agent, git, access);
  });
}

async function renew(
  worktree: Worktree,
  agent: AgentGit,
  git: Git,
  last: AgentGitState | null,
): Promise<void> {
  if (last) await collectInTurn(agent, git.env, 'refs');
  const before = last && (await agent.state());
  const { gitDir, commonDir } = git.folder;
  const ref = `refs/heads/${worktree.branch}`;
  const [{ refs, head, tip }, config, given, folders] = await Promise.all([
    readRepository(git, ref),
    agentConfig(git),
    agent.given(),
    objectFolders(join(commonDir, 'objects')),
  ]);
  await mkdir(agent.folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(agent.folder))
    if (name.startsWith(NEW)) await rm(join(agent.folder, name), { recursive: true, force: true });
  const fresh = await mkdtemp(join(agent.folder, NEW));
  const own = join(fresh, 'worktrees', basename(gitDir));
  const theirs = before && agent.refs(before);
  for (const folder of ['refs/heads', 'refs/tags', 'info', 'hooks', 'objects', 'logs'])
    await mkdir(join(fresh, folder), { recursive: true });
  for (const at of folders.keys()) await mkdir(join(fresh, sharedObjects(at)));
  // The agent's logs, stashes and unfinished merge stay.
  if (before) {
    await copyPlain(join(agent.git, 'logs'), join(fresh, 'logs'));
    await copyPlain(join(agent.git, 'worktrees', basename(before.gitDir)), own);
  }
  await mkdir(join(own, 'logs'), { recursive: true });
  await mkdir(join(own, 'modules'), { recursive: true });
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
    before.index === (await fileStamp(indexOf(git)));
  const files: [path: string, content: string | Buffer][] = [
    ['HEAD', 'ref: refs/heads/none\n'],
    ['config', Buffer.from(config, 'latin1')],
    ['packed-refs', listed + packed(kept)],
    [ref, `${tip}\n`],
    ['info/exclude', Buffer.from((await readIgnoreRules(git)) ?? '', 'latin1')],
    ...(await copied(join(commonDir, 'info', 'attributes'), 'info/attributes')),
    ...(await copied(join(commonDir, 'shallow'), 'shallow')),
  ];
  const ofTree: typeof files = [
    ['commondir', '../..\n'],
    ['gitdir', `${worktree.path}/.git\n`],
    ...(await copied(join(gitDir, 'info', 'sparse-checkout'), 'info/sparse-checkout')),
  ];
  if (!isCurrent) {
    const branch = isUsers ? head : (theirs?.head ?? ref);
    ofTree.push(['HEAD', branch.startsWith('refs/') ? `ref: ${branch}\n` : `${branch}\n`]);
    await rm(join(own, 'index'), { force: true });
  }
  for (const [path, content] of files) await write(join(fresh, path), content);
  for (const [path, content] of ofTree) await write(join(own, path), content);
  // Not younger than its source: git reads files again that are not older than the index.
  if (!isCurrent && (await isPlainFile(indexOf(git))))
    await cp(indexOf(git), join(own, 'index'), { preserveTimestamps: true });
  await mkdir(join(agent.objects, 'pack'), { recursive: true, mode: 0o700 });
  await giveObjects(agent, folders.length);
  // Git would make it there, where it is not seen outside.
  await mkdir(join(gitDir, 'modules'), { recursive: true });
  await agent.giveRefs(listed);
  await agent.swap(fresh);
  const next = { moving: null, detached: before?.detached ?? null, index: before?.index ?? null };
  const { path, branch } = worktree;
  await agent.save({
    commits: 0,
    notes: [],
    ...before,
    ...next,
    path,
    branch,
    commonDir,
    gitDir,
    synced: tip,
  });
  await rm(agent.staging, { recursive: true, force: true });
}

const NEW = 'git.new-';
const sharedObjects = (at: number): string => `shared-objects-${at}`;

/** By git itself: refs may be packed, and HEAD a link. */
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

async function write(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { recursive: true, force: true });
  await writeFile(path, content, { flag: 'wx' });
}

const copied = async (from: string, to: string): Promise<[string, Buffer][]> => {
  const content = await readPlainFile(from);
  return content === null ? [] : [[to, content]];
};

/** Plain files and folders only: a link of the agent's may lead anywhere. */
async function copyPlain(from: string, to: string): Promise<void> {
  if (!(await lstat(from).catch(() => null))?.isDirectory()) return;
  const isPlain = async (path: string) => {
    const found = await lstat(path).catch(() => null);
    if (found?.isFile()) return found.size <= MAX_COPIED_BYTES && !path.endsWith('.lock');
    return found?.isDirectory() === true && path !== join(from, 'modules');
  };
  await cp(from, to, { recursive: true, filter: isPlain, preserveTimestamps: true });
}

const MAX_COPIED_BYTES = 256 * 1024 ** 2;

async function giveObjects(agent: AgentGit, count: number): Promise<void> {
  const info = join(agent.objects, 'info');
  await rm(info, { recursive: true, force: true });
  await mkdir(info);
  const lines = Array.from({ length: count }, (_, at) => `../${sharedObjects(at)}\n`);
  await writeFile(join(info, 'alternates'), lines.join(''), { flag: 'wx' });
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
    // Where the user has none, git would make one of the host's name, which a sandbox hides.
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

/** Hooks of the repository's files work in the work tree too; those elsewhere are not seen in a sandbox. */
function hooksSetting(path: string | null, main: string): Setting[] {
  if (path === null || path === '' || path.startsWith('~')) return [];
  const value = isAbsolute(path) ? (isInside(main, path) ? relative(main, path) : null) : path;
  return value === null || value === '' ? [] : [{ key: 'core.hookspath', value }];
}

/** Who commits, and filters such as Git LFS: without those, git would commit other content than the user's. */
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
  if (!existsSync(empty)) await writeFile(empty, '');
  const hooks = await realpath(join(commonDir, 'hooks')).catch(() => null);
  const shared: Mount[] = [];
  for (const [at, from] of folders.entries()) {
    const inside = join(commonDir, sharedObjects(at));
    shared.push({ path: inside, from, access: 'read' });
    // All folders are listed for the agent's git; those named in here do not exist inside.
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
