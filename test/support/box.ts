import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';

/** Another machine: a real sshd with keys, a configuration and a home folder of its own. Nothing of this machine's ~/.ssh is used. */
export class TestBox {
  readonly root: string;
  readonly home: string;
  /** File for `ssh -F`, in which the box is called `box`. */
  readonly sshConfig: string;
  private sshd: ChildProcess | null = null;
  private port = 0;
  /** Between ssh and sshd: the network, which tests can cut. */
  readonly network = new TestNetwork();
  /** Command that runs sshd elsewhere, for example in a network namespace. */
  private readonly around: string[];
  private readonly host: string;

  constructor(squad: { root: string }, name = 'box', { host = '127.0.0.1', around = [] as string[] } = {}) {
    this.root = join(squad.root, name);
    this.home = join(this.root, 'home');
    this.sshConfig = join(this.root, 'ssh_config');
    this.host = host;
    this.around = around;
    mkdirSync(this.home, { recursive: true });
    for (const key of ['host', 'user'])
      run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(this.root, key)]);
    writeFileSync(join(this.root, 'authorized_keys'), readFileSync(join(this.root, 'user.pub')), {
      mode: 0o600,
    });
  }

  /** `environment`: of the sessions there; `node`: the folder of Node in their PATH. */
  async start(node = dirname(process.execPath)): Promise<void> {
    this.port = await freePort();
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
    const path = [node, '/usr/bin', '/bin'].filter(Boolean).join(':');
    const config = join(this.root, 'sshd_config');
    writeFileSync(
      config,
      [
        `ListenAddress ${this.host}:${this.port}`,
        `HostKey ${join(this.root, 'host')}`,
        `AuthorizedKeysFile ${join(this.root, 'authorized_keys')}`,
        ...[
          'StrictModes no',
          'UsePAM no',
          'PasswordAuthentication no',
          'PermitRootLogin yes',
          'PidFile none',
        ],
        ...['PrintMotd no', 'PrintLastLog no', 'AllowTcpForwarding no', 'MaxStartups 100'],
        `SetEnv HOME=${this.home} SHELL=/bin/sh PATH=${path}`,
      ].join('\n'),
    );
    writeFileSync(join(this.home, '.profile'), `PATH=${path}\n`, { flag: 'a' });
    await this.network.open(this.host, this.port);
    this.describe();
    await this.restart();
  }

  /** Writes the client's configuration. Figures do without the network that can be cut. */
  describe(port = this.network.port): void {
    writeFileSync(
      this.sshConfig,
      [
        'Host box',
        `HostName ${this.host}`,
        `Port ${port}`,
        `User ${userInfo().username}`,
        `IdentityFile ${join(this.root, 'user')}`,
        'IdentitiesOnly yes',
        `UserKnownHostsFile ${join(this.root, 'known_hosts')}`,
      ].join('\n  '),
    );
    const [type, key] = readFileSync(join(this.root, 'host.pub'), 'utf8').split(' ');
    writeFileSync(join(this.root, 'known_hosts'), `[${this.host}]:${port} ${type} ${key}\n`);
  }

  get address(): { host: string; port: number } {
    return { host: this.host, port: this.port };
  }

  /** Ends sshd and every session, as when the machine is switched off, but its agents. */
  async stop(): Promise<void> {
    const { sshd } = this;
    this.sshd = null;
    if (!sshd?.pid) return;
    const sessions = childrenOf(sshd.pid);
    for (const pid of [...sessions, sshd.pid]) kill(pid);
    await new Promise(resolve => (sshd.exitCode === null ? sshd.once('exit', resolve) : resolve(null)));
  }

  /** Starts sshd again at the same port. */
  async restart(): Promise<void> {
    const [program, ...args] = [
      ...this.around,
      '/usr/sbin/sshd',
      '-D',
      '-e',
      '-f',
      join(this.root, 'sshd_config'),
    ];
    const sshd = spawn(program!, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    this.sshd = sshd;
    let said = '';
    const isOpen = Promise.withResolvers<void>();
    sshd.stderr.on('data', (chunk: Buffer) => {
      if (said.length < 64 * 1024) said += chunk;
      if (/Server listening/.test(said)) isOpen.resolve();
    });
    sshd.once('exit', code => isOpen.reject(new Error(`sshd ended with ${code}: ${said}`)));
    await isOpen.promise;
  }

  /** Processes of sessions: sshd's children and theirs, such as the runner. */
  sessions(): number[] {
    return this.sshd?.pid ? childrenOf(this.sshd.pid) : [];
  }

  /** The program that serves the hub; its agents and the address that they call are other processes. */
  runners(): number[] {
    return this.sessions().filter(pid => /\/runner\.cjs h_/.test(commandOf(pid)));
  }

  /** Processes at whose ports agents here reach Squad. */
  doors(): number[] {
    const doors = globSync(join(this.home, '.squad-runner', 'hubs', '*', 'door.json'));
    return doors.map(door => (JSON.parse(readFileSync(door, 'utf8')) as { pid: number }).pid);
  }

  /** `squad` ends first, while it can still reach its agents here. */
  async remove(squad: AsyncDisposable): Promise<void> {
    const pids = this.doors();
    await squad[Symbol.asyncDispose]();
    await this.stop();
    this.network.close();
    for (const pid of pids) kill(pid);
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Carries connections to one address. While it is held nothing arrives and no error is reported, as on a network that is gone. */
class TestNetwork {
  port = 0;
  private server: Server | null = null;
  private readonly pairs = new Set<{ ends: [Socket, Socket] }>();
  private isHeld = false;

  async open(host: string, port: number): Promise<void> {
    this.server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, near => {
      const far = connect({ port, host, allowHalfOpen: true });
      const pair = { ends: [near, far] as [Socket, Socket] };
      this.pairs.add(pair);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('data', chunk => other.write(chunk));
        one.on('error', () => {}); // its close follows
        one.on('end', () => this.whenOpen(() => other.end()));
        one.on('close', () => this.whenOpen(() => other.destroy()));
      }
      if (this.isHeld) far.pause();
      else near.resume();
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as { port: number }).port;
  }

  /** Both sides keep what they send. */
  hold(): void {
    this.isHeld = true;
    for (const { ends } of this.pairs) for (const end of ends) end.pause();
  }

  /** What was sent meanwhile arrives now, late. */
  release(): void {
    this.isHeld = false;
    for (const then of this.waiting.splice(0)) then();
    for (const { ends } of this.pairs) for (const end of ends) end.resume();
  }

  /** Every connection is reset. */
  cut(): void {
    for (const { ends } of this.pairs) for (const end of ends) end.destroy();
    this.pairs.clear();
  }

  close(): void {
    this.isHeld = false;
    this.cut();
    this.server?.close();
  }

  private readonly waiting: (() => void)[] = [];
  private whenOpen(then: () => void): void {
    if (this.isHeld) this.waiting.push(then);
    else then();
  }
}

function run(program: string, args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended by itself
  }
}

/** All descendants that are still connected to it: agents and the address they call are not. */
function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const rows = stdout.split('\n').map(line => line.trim().split(/\s+/));
  const below = (parent: number): number[] =>
    rows.flatMap(([own, of, ...words]) =>
      Number(of) === parent && !/squad-turn-|runner\.cjs door/.test(words.join(' '))
        ? [Number(own), ...below(Number(own))]
        : [],
    );
  return below(pid);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}
