import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Refusal } from '../http/guard.ts';
import { peerOf } from '../http/own-peer.ts';
import type { CallerPorts } from '../hub/callers.ts';
import type { Rooms } from '../process/sandbox/rooms.ts';
import { createSocketHolders } from '../process/table/socket-holder.ts';
import { readWrapperPid, runFolder } from '../process/turns/turn-record.ts';
import { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';

export interface HttpPeerPorts {
  identities: CallerPorts;
  runsDir: string;
  rooms: Pick<Rooms, 'runBehind'>;
}

/** The run that sent a request. `isProven` is true when more than a mark in the environment identifies the run. */
export interface AskingRun {
  run: Run;
  isProven: boolean;
}

type Peer =
  /** The operating system cannot identify the other process. */
  | { kind: 'anyone' }
  /** The connection was closed before it could be inspected. */
  | { kind: 'gone' }
  /** The process hides its file descriptors. */
  | { kind: 'hidden' }
  /** Proxy process of a sandboxed agent. `runId` is null when the sandbox belongs to no known run. */
  | { kind: 'room'; runId: string | null }
  | { kind: 'process'; pid: number; around: AskingRun | null; isUsers: () => Promise<boolean> };

interface OwnProcess {
  found: Awaited<ReturnType<CallerPorts['runOfProcess']>>;
  isUsers(): Promise<boolean>;
}

/** Finds the process at the other end of an HTTP connection, once per connection. */
export class HttpPeers {
  private readonly ports: HttpPeerPorts;
  private readonly holders = createSocketHolders();
  private readonly known = new WeakMap<Socket, Promise<Peer>>();
  /** Processes that are being looked up: a program often opens many connections at once. */
  private readonly inLookup = new Map<number, Promise<OwnProcess>>();

  constructor(ports: HttpPeerPorts) {
    this.ports = ports;
  }

  /**
   * Checks who sent the user's token. Null means the user. If a process inside a run sent the token, the result is
   * that run.
   */
  async withUserToken(socket: Socket): Promise<AskingRun | Refusal | null> {
    const peer = await this.of(socket);
    if (peer.kind === 'process') return peer.around;
    if (peer.kind === 'room') return IN_SANDBOX;
    const isUncertain = peer.kind === 'gone' || (peer.kind === 'hidden' && this.anyAgentHides());
    return isUncertain ? UNKNOWN_PROCESS : null;
  }

  /**
   * Checks who sent a run's token. Only a process below the run's wrapper, or one of the user's processes, may use
   * it.
   */
  async withRunToken(socket: Socket, run: Run): Promise<AskingRun | Refusal> {
    const peer = await this.of(socket);
    if (peer.kind === 'anyone') return { run, isProven: true };
    if (peer.kind === 'room') return peer.runId === run.id ? { run, isProven: true } : OTHER_RUN;
    if (peer.kind !== 'process') return UNKNOWN_PROCESS;
    const { around, pid, isUsers } = peer;
    // The hub itself forwards requests of agents on other machines.
    if (pid === process.pid && run.options.machine !== null) return { run, isProven: true };
    if (around && around.run.id !== run.id) return OTHER_RUN;
    // A mark in the environment is no proof: another agent can copy both the mark and the token.
    if (around?.isProven || (await isUsers())) return { run, isProven: true };
    return OTHER_RUN;
  }

  private of(socket: Socket): Promise<Peer> {
    const peer = this.known.get(socket) ?? this.inspect(socket);
    this.known.set(socket, peer);
    return peer;
  }

  private async inspect(socket: Socket): Promise<Peer> {
    const peer = await peerOf(socket);
    if (peer === undefined) return { kind: 'anyone' };
    if (peer === null) return { kind: 'gone' };
    const pid = this.holders.holderOf(peer.inode);
    if (pid === null) return { kind: 'hidden' };
    const { found, isUsers } = await this.lookUp(pid);
    // A process that belongs to a run counts as that run, even if it serves a sandbox's socket.
    const roomOf = found ? undefined : await this.ports.rooms.runBehind(pid, socket.remotePort ?? 0);
    if (roomOf !== undefined) return { kind: 'room', runId: roomOf };
    const id = RunId.safeParse(found?.runId);
    const run = id.success ? await this.ports.identities.run(id.data) : null;
    return { kind: 'process', pid, around: run && { run, isProven: found!.isProven }, isUsers };
  }

  private lookUp(pid: number): Promise<OwnProcess> {
    const { identities } = this.ports;
    const known = this.inLookup.get(pid);
    if (known) return known;
    let users: Promise<boolean> | null = null;
    const isUsers = () => (users ??= identities.isUsers(pid));
    const lookup = identities.runOfProcess(pid).then(found => ({ found, isUsers }));
    this.inLookup.set(pid, lookup);
    const forget = () => this.inLookup.delete(pid);
    lookup.then(forget, forget);
    return lookup;
  }

  private anyAgentHides(): boolean {
    const { identities, runsDir } = this.ports;
    const wrappers = identities
      .liveRuns()
      .map(({ id, turn }) => readWrapperPid(join(runFolder(runsDir, id), `turn-${turn}`)))
      .filter(pid => typeof pid === 'number');
    return this.holders.anyHidesBelow(wrappers);
  }
}

const UNKNOWN_PROCESS: Refusal = {
  status: 403,
  code: 'NOT_ALLOWED',
  message: 'Squad cannot tell which process sent this request, so the token in it is not accepted',
  suggestions: [
    'Keep the connection open until the answer arrives. Processes that hide their open files are refused.',
  ],
};
const IN_SANDBOX: Refusal = {
  status: 403,
  code: 'NOT_ALLOWED',
  message: "An agent in a sandbox cannot use the user's token",
  suggestions: ['Use the token that Squad gave to this run.'],
};
const OTHER_RUN: Refusal = {
  status: 403,
  code: 'NOT_ALLOWED',
  message: "This is the token of another run: only that run's own processes can use it",
  suggestions: ['Use the token that Squad gave to this run.'],
};
