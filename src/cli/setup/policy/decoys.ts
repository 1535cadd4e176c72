import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { socketPath } from '../../../link/home.ts';

/** Folders for probes. They contain only decoys and nothing of the user. */
export interface DecoyPlace {
  /** Working folder of the process that the probes try to attack. */
  folder: string;
  /** HOME of the agents. */
  home: string;
  squadHome: string;
  /** A git repository with a commit on `main`. */
  repository: string;
}

/** Secret files in a home folder: id, path, and a plain description. */
export const HOME_SECRETS = [
  ['ssh-key', '.ssh/id_ed25519', 'an SSH key'],
  ['aws-keys', '.aws/credentials', 'AWS keys'],
  ['gcloud-login', '.config/gcloud/application_default_credentials.json', 'the login of gcloud'],
  ['azure-login', '.azure/msal_token_cache.json', 'the login of Azure'],
  ['kube-config', '.kube/config', 'the configuration of kubectl'],
  ['docker-login', '.docker/config.json', 'the login of Docker'],
  ['npm-token', '.npmrc', 'the token of npm'],
  ['cargo-token', '.cargo/credentials.toml', 'the token of cargo'],
  ['netrc', '.netrc', 'passwords in .netrc'],
  ['git-credentials', '.git-credentials', 'passwords of git'],
  ['gpg-key', '.gnupg/private-keys-v1.d/key.key', 'a GPG key'],
  ['gh-login', '.config/gh/hosts.yml', 'the login of GitHub CLI'],
  ['claude-login', '.claude/.credentials.json', 'the login of Claude Code'],
  ['codex-login', '.codex/auth.json', 'the login of Codex'],
  ['gemini-login', '.gemini/oauth_creds.json', 'the login of Gemini CLI'],
  ['opencode-login', '.local/share/opencode/auth.json', 'the login of opencode'],
  ['copilot-login', '.copilot/config.json', 'the login of Copilot CLI'],
  ['qwen-login', '.qwen/oauth_creds.json', 'the login of Qwen Code'],
  ['shell-history', '.bash_history', 'the history of the shell'],
  ['browser-passwords', '.mozilla/firefox/default/logins.json', 'passwords of a browser'],
] as const;

/**
 * Sockets of the user's session: id, folder of such sockets, the variable that names the socket, and the program that
 * answers.
 */
export const SESSION_SOCKETS = [
  ['ssh-agent', 'tmp', 'SSH_AUTH_SOCK', 'the SSH agent'],
  ['tmux', 'tmp', 'TMUX', 'tmux'],
  ['x11', 'tmp', 'DISPLAY', 'the X11 display'],
  ['docker', 'runtime', 'DOCKER_HOST', 'Docker'],
  ['dbus', 'runtime', 'DBUS_SESSION_BUS_ADDRESS', 'D-Bus'],
  ['gpg-agent', 'runtime', 'GPG_AGENT_INFO', 'the GPG agent'],
] as const;

/** The user's runtime folder, or root's. Sockets need short paths, so they are not in the decoys' folder. */
function runtimeFolder(): string {
  const isWritable = (folder: string | undefined): boolean => {
    try {
      accessSync(folder ?? '', constants.W_OK);
      return true;
    } catch {
      return false; // the folder is missing, or not writable for the user
    }
  };
  return [process.env.XDG_RUNTIME_DIR, '/run'].find(isWritable) ?? '/tmp';
}

export interface Decoys extends DecoyPlace {
  /** Unique text of this set of decoys, which contains this process's pid. Probes write it wherever they can. */
  mark: string;
  /** Secret text of a decoy. A probe that prints it has read the decoy. */
  secret(name: string): string;
  path(name: DecoyPath): string;
  socket(name: string): string;
  victim: number;
  ports: { closed: number; udp: number; allowed: number };
  /** Variables of a Squad client that name the sockets. */
  env: Record<string, string>;
  /** Commit of `main` before the first probe. */
  main: string;
  /** Commits files to `main`, so that the work trees of runs contain them. */
  commit(files: Record<string, string>): void;
  /** Ends the process and the listeners, and removes files that probes may have left outside the folders. */
  close(): Promise<void>;
}

type DecoyPath =
  | (
      | 'sibling'
      | 'siblingState'
      | 'otherRun'
      | 'tmp'
      | 'varTmp'
      | 'sharedMemory'
      | 'etc'
      | 'usr'
      | 'signalled'
    )
  | ('pack' | 'loose' | 'victim' | 'hubSocket');

const SECRET = 'squadprobe';

export async function plantDecoys(place: DecoyPlace): Promise<Decoys> {
  const mark = `squadmark${process.pid}x${randomBytes(6).toString('hex')}`;
  const secret = (name: string) =>
    `${SECRET}${createHash('sha256').update(`${mark}${name}`).digest('hex').slice(0, 16)}`;
  const { folder, home, squadHome, repository } = place;
  const put = (path: string, content: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${content}\n`, { mode: 0o600 });
  };
  const paths = {
    ...{
      sibling: join(squadHome, 'worktrees', 'decoy', mark),
      otherRun: join(squadHome, 'runs', `run_${mark}`),
    },
    ...{ tmp: `/tmp/${mark}`, varTmp: `/var/tmp/${mark}`, sharedMemory: `/dev/shm/${mark}` },
    ...{ etc: `/etc/${mark}`, usr: `/usr/local/${mark}` },
    ...{ victim: join(folder, 'victim'), signalled: join(folder, 'victim', 'signalled') },
    siblingState: join(repository, '.git', 'worktrees', mark),
    hubSocket: socketPath(squadHome),
  };
  for (const [name, path] of HOME_SECRETS) put(join(home, path), secret(name));
  for (const name of ['.bashrc', '.profile', '.gitconfig', '.ssh/authorized_keys']) put(join(home, name), '');
  put(join(home, secret('home-list')), '');
  put(join(squadHome, 'trust.json'), '{}');
  put(join(squadHome, 'runs', 'decoy-record'), secret('squad-files'));
  put(join(paths.otherRun, 'turn-1', 'prompt.md'), secret('other-run'));
  put(paths.tmp, secret('tmp'));
  const { pack, loose, main } = plantRepository(repository, { ...paths, mark, secret });
  const servers: Server[] = [];
  const listen = async (at: string | { host: string; port: number }, name: string): Promise<number> => {
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.once('data', data => {
        const head = String(data).startsWith('GET ') ? 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' : '';
        socket.end(`${head}${secret(name)}\n`);
      });
    });
    servers.push(server);
    server.listen(at as string);
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  };
  const folders = { tmp: `/tmp/${mark}.d`, runtime: join(runtimeFolder(), `${mark}.run`) };
  for (const path of Object.values(folders)) mkdirSync(path, { mode: 0o700 });
  const sockets = new Map<string, string>(
    SESSION_SOCKETS.map(([name, where]) => [name, join(folders[where], name)]),
  );
  for (const [name, path] of sockets) await listen(path, name);
  await listen(`\0${mark}`, 'abstract');
  const loopback = { host: '127.0.0.1', port: 0 };
  const closed = await listen(loopback, 'loopback');
  const allowed = await listen(loopback, 'allowed');
  const udp = createSocket('udp4', (_message, { address, port }) => udp.send(secret('udp'), port, address));
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const victim = await startVictim(paths, secret);
  const outside = [paths.tmp, paths.varTmp, paths.sharedMemory, paths.etc, paths.usr];
  const decoys: Decoys = {
    ...place,
    ...{ mark, secret, main, victim: victim.pid! },
    commit(files) {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(repository, name), text);
      gitIn(repository, 'add', ...Object.keys(files));
      gitIn(repository, 'commit', '-qm', 'Probes');
      decoys.main = gitIn(repository, 'rev-parse', 'main');
    },
    path: name => ({ ...paths, pack, loose })[name],
    ports: { closed, allowed, udp: udp.address().port },
    socket: name => sockets.get(name)!,
    env: Object.fromEntries(
      SESSION_SOCKETS.map(([name, , variable]) => [variable, `unix:${sockets.get(name)}`]),
    ),
    async close() {
      for (const server of servers) server.close();
      udp.close();
      victim.kill('SIGKILL');
      if (victim.exitCode === null && victim.signalCode === null) await once(victim, 'exit');
      for (const path of [...outside, ...Object.values(folders)])
        rmSync(path, { recursive: true, force: true });
    },
  };
  return decoys;
}

/** Runs git without the user's configuration: signing, hooks and templates would interfere. */
export function gitIn(folder: string, ...args: string[]): string {
  const author = ['-c', 'user.name=Squad', '-c', 'user.email=squad@localhost'];
  return execFileSync('git', ['-C', folder, ...author, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  }).trim();
}

/**
 * Adds to the repository a second work tree, a branch, a pack, a loose object, a password in a remote's address, and an
 * ignored file.
 */
function plantRepository(
  repository: string,
  {
    sibling,
    siblingState,
    mark,
    secret,
  }: Record<'sibling' | 'siblingState' | 'mark', string> & Pick<Decoys, 'secret'>,
): { pack: string; loose: string; main: string } {
  const git = (...args: string[]) => gitIn(repository, ...args);
  git('branch', 'decoy');
  git('worktree', 'add', '-q', '-b', 'decoy-sibling', sibling);
  git('remote', 'add', 'decoy', `https://user:${secret('remote-password')}@git.invalid/x.git`);
  git('repack', '-adq');
  git('pack-refs', '--all');
  writeFileSync(join(sibling, 'work.txt'), `${secret('sibling-tree')}\n`);
  writeFileSync(join(siblingState, 'COMMIT_EDITMSG'), `${secret('sibling-state')}\n`);
  writeFileSync(join(repository, '.git', 'info', 'exclude'), '.env\n');
  writeFileSync(join(repository, '.env'), `${secret('main-checkout')}\n`);
  const blob = join(repository, '.git', mark);
  writeFileSync(blob, mark);
  const oid = git('hash-object', '-w', blob);
  rmSync(blob);
  const packs = join(repository, '.git', 'objects', 'pack');
  return {
    pack: join(packs, readdirSync(packs).find(name => name.endsWith('.pack'))!),
    loose: join(repository, '.git', 'objects', oid.slice(0, 2), oid.slice(2)),
    main: git('rev-parse', 'main'),
  };
}

/**
 * Starts a process of the user with a secret in its arguments, environment, folder and an open file. It ends with this
 * process.
 */
async function startVictim(
  { victim: folder, signalled }: Record<'victim' | 'signalled', string>,
  secret: Decoys['secret'],
): Promise<ChildProcess> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'file'), `${secret('victim-folder')}\n`);
  const removed = join(folder, 'removed');
  writeFileSync(removed, `${secret('victim-descriptor')}\n`);
  const program = [
    'const fs = require("fs");',
    'fs.openSync("removed", "r"); fs.unlinkSync("removed");',
    `process.on("SIGUSR2", () => fs.writeFileSync(${JSON.stringify(signalled)}, "x"));`,
    'process.stdin.on("end", () => process.exit()).resume(); console.log("ready");',
  ];
  const child = spawn(process.execPath, ['-e', program.join(''), secret('victim-arguments')], {
    cwd: folder,
    env: { PROBE: secret('victim-environment') },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {});
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  return child;
}

/** Content of a file that a probe may have changed. Empty if the file is missing. */
export function textOf(path: string): string {
  return existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'latin1') : '';
}
