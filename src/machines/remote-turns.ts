import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Executor,
  FoundTurn,
  LiveTurn,
  PlacedTurn,
  ProcessStats,
  TurnEnd,
  TurnOptions,
  TurnRef,
  TurnStart,
} from '../core/ports/turns.ts';
import { turnFolder } from '../process/turns/turn-record.ts';
import type { RemoteStart, SentFile, TurnId } from '../runner/protocol.ts';
import { asSquadError, SquadError } from '../schema/error.ts';
import { shellWord } from '../schema/shell-word.ts';
import type { BoxTurnState } from './answers.ts';
import type { Link } from './link.ts';

export interface RemoteTurnPorts {
  link(machine: string): Link;
  /** How long an agent may continue without the hub if another agent can take over its work. */
  leaseMs(): number;
  /** Folders of the hub. On a machine the corresponding folders are below the runner's own folder. */
  folders: { runs: string; chats: string; worktrees: string };
  /** Path of Node on the hub's machine, and of the scripted engine's program. */
  node: string;
  scriptedAgent: string;
  /** Limit of a turn's output, beyond which the hub stops the turn. */
  maxOutput(): number;
  warn(message: string, cause?: unknown): void;
}

/** File in the turn's folder. It is created when the machine is asked to start the turn. */
const ASKED = 'asked';
/**
 * File with the start request. It is kept until the machine is known to have the request, so that the next hub can
 * send it again.
 */
const REQUEST = 'request.json';
const PAGE = 256 * 1024;
/**
 * Page size while more than one page of output is waiting. Larger pages need fewer requests, but delay other requests
 * on the same connection a little.
 */
const LARGE_PAGE = 1024 * 1024;
const READ_WAIT_MS = 20_000;
/** Timeout for finding a turn. It is short, because the start of the hub waits for the answer. */
const FIND_TIMEOUT_MS = 1_500;
const STATS_TIMEOUT_MS = 2_000;
const RETRY_MS = 1_000;
/**
 * Output above the limit that is still accepted, because output may already be on its way when the hub stops the turn.
 */
const OUTPUT_SLACK = 64 * 1024 * 1024;
/** Size limit of files that a program wrote next to its output. Engines read only the end of such a file. */
const MAX_FILE = 1024 * 1024;
/** Files of the turn that the machine does not need. */
const OWN_FILES = new Set([
  ...['plan.json', 'before.json', 'command.json', 'identity.json', 'setup.log', ASKED, REQUEST],
]);
const STREAMS = ['stdout', 'stderr'] as const;
/**
 * Time to wait after a lease has expired. The wrapper checks the lease every 2 s and ends the agent within 5 s. The
 * rest is a reserve for a busy machine.
 */
const TAKEOVER_MARGIN_MS = 15_000;

type PlacedElsewhere<T> = T & { machine: string };

/**
 * Turns on other machines. Each turn has the same files here as a local turn. Output is appended to the files as it
 * arrives, and their size shows where to continue.
 */
export class RemoteTurns {
  private readonly ports: RemoteTurnPorts;

  constructor(ports: RemoteTurnPorts) {
    this.ports = ports;
  }

  async start(turn: PlacedElsewhere<TurnStart>, options: TurnOptions): Promise<LiveTurn> {
    if (turn.sandbox !== null)
      throw new SquadError('SANDBOX_UNAVAILABLE', 'A turn on another machine has no sandbox');
    const link = this.ports.link(turn.machine);
    // Paths on the machine are known after the first connection.
    if (link.hello === null) await link.ask('ping', {});
    const there = this.translator(link.hello!);
    const folder = this.folder(turn);
    const files: SentFile[] = [folder, turn.chatFolder].flatMap(filesBelow).map(path => ({
      path: relative(link.hello!.base, there(path)),
      text: path.endsWith('/prompt.md') ? readFileSync(path, 'utf8') : there(readFileSync(path, 'utf8')),
    }));
    const { command, runId, number, hardLimitMs } = turn;
    const ask = {
      ...{ runId, number, hardLimitMs, files },
      argv: this.argvThere(command.argv, link, there),
      stdin: command.stdin === null ? null : there(command.stdin),
      env: Object.fromEntries(Object.entries(command.env).map(([name, value]) => [name, there(value)])),
      cwd: there(turn.cwd),
      keepLeftovers: options.keepLeftovers,
    };
    writeFileSync(join(folder, REQUEST), JSON.stringify(ask), { mode: 0o600 });
    writeFileSync(join(folder, ASKED), turn.machine, { mode: 0o600 });
    const given = new AbortController();
    const stopWatching = this.onLapse(turn, link, options, () => given.abort());
    try {
      return this.watch(turn, await this.send(turn, ask, link, options, given.signal), options);
    } catch (thrown) {
      if (given.signal.aborted) return this.lapsed(turn, link);
      // The machine refused the start. The file is removed, so that the next hub knows that the turn never started.
      rmSync(join(folder, ASKED), { force: true });
      dropRequest(folder);
      throw onMachine(turn.machine, thrown);
    } finally {
      stopWatching();
    }
  }

  /** Sends the request to start the turn. It may come twice: the machine starts a turn only once. */
  private async send(
    turn: TurnRef,
    ask: Omit<RemoteStart, 'lease'>,
    link: Link,
    options: TurnOptions,
    signal: AbortSignal,
  ): Promise<BoxTurnState> {
    for (;;) {
      const ms = this.ports.leaseMs();
      const lease = options.isLeased ? { until: link.lease(idOf(turn), ms), ms } : null;
      try {
        const { answer } = await link.ask('start', { turn: { ...ask, lease } }, { signal });
        dropRequest(this.folder(turn));
        return answer;
      } catch (thrown) {
        // The machine refused the start because the lease had expired on the way. No agent was started.
        if ((thrown as NodeJS.ErrnoException).code !== 'LEASE_OVER') throw thrown;
        await delay(RETRY_MS);
      }
    }
  }

  /**
   * The start request of an earlier hub. Null if the machine is known to have got it, so that the agent may have run.
   */
  private unsent(turn: TurnRef): Omit<RemoteStart, 'lease'> | null {
    try {
      return JSON.parse(readFileSync(join(this.folder(turn), REQUEST), 'utf8'));
    } catch {
      return null; // no file, or an incomplete one: the earlier hub died before it sent the request
    }
  }

  async hasBegun(turn: TurnRef): Promise<boolean> {
    return existsSync(join(this.folder(turn), ASKED));
  }

  /** Finds a turn of an earlier hub. If its machine does not answer, the turn counts as live. */
  async find(turn: PlacedElsewhere<PlacedTurn>, options: TurnOptions): Promise<FoundTurn> {
    const askedAt = statSync(join(this.folder(turn), ASKED), { throwIfNoEntry: false })?.mtimeMs;
    if (askedAt === undefined) return { state: 'never_started' };
    const link = this.linkOf(turn.machine);
    if (link === null) {
      const end = {
        ...NO_END,
        endedAt: Math.round(askedAt),
        lost: `The machine ${turn.machine} was removed.`,
      };
      return { state: 'gone', end, startedAt: Math.round(askedAt) };
    }
    const { keepLeftovers } = options;
    // An earlier hub may have extended the lease until that hub ended.
    if (options.isLeased) link.lease(idOf(turn), this.ports.leaseMs());
    const late = AbortSignal.timeout(FIND_TIMEOUT_MS);
    // An error of the machine says nothing about the agent. `watch` asks the machine again later.
    const found = await link
      .ask('find', { turn: idOf(turn), keepLeftovers }, { signal: late })
      .catch(() => null);
    if (found === null) {
      const live = this.watch(turn, AWAY, options);
      return { state: 'live', turn: live, startedAt: Math.round(askedAt) };
    }
    const { answer } = found;
    const isStartedNow =
      answer.state === 'never_started' && options.startsAgain && this.unsent(turn) !== null;
    if (answer.state === 'never_started' && !isStartedNow) {
      // The machine has no record of the turn. If it had got the start request, its agent may have run.
      const wasStarted = this.unsent(turn) === null;
      if (!wasStarted) return { state: 'never_started' };
      const end = { ...lost(noRecord(turn.machine)), canTakeOver: true };
      return { state: 'gone', end: this.over(this.folder(turn), end), startedAt: Math.round(askedAt) };
    }
    const live = this.watch(turn, answer, options);
    const startedAt = isStartedNow ? Date.now() : timeHere(link, answer.startedAt);
    if (answer.state === 'live' || answer.state === 'never_started')
      return { state: 'live', turn: live, startedAt };
    return { state: answer.state, end: await live.ended, startedAt };
  }

  private watch(turn: PlacedElsewhere<PlacedTurn>, { pid }: BoxTurnState, options: TurnOptions): LiveTurn {
    const link = this.ports.link(turn.machine);
    const about = { turn: idOf(turn) };
    let isStopped = false;
    return {
      pid,
      ended: this.mirror(turn, link, options, () => isStopped),
      stop: graceMs => {
        isStopped = true;
        link
          .ask('stop', { ...about, graceMs })
          .catch(thrown => this.ports.warn(`${turn.runId} could not be stopped on ${turn.machine}`, thrown));
      },
      isAway: () => link.state !== 'up',
      processStats: async () => {
        const signal = AbortSignal.timeout(STATS_TIMEOUT_MS);
        return (await link.ask('stats', about, { signal })).answer.stats ?? NO_PROCESS;
      },
    };
  }

  /**
   * Calls `lapse` once the turn's lease has expired and its agent cannot be running any more. Returns a function that
   * stops the check.
   */
  private onLapse(turn: TurnRef, link: Link, { isLeased }: TurnOptions, lapse: () => void): () => void {
    if (!isLeased) return () => {};
    const timer = setInterval(() => {
      if (performance.now() > link.leaseEndsAt(idOf(turn)) + TAKEOVER_MARGIN_MS) lapse();
    }, RETRY_MS).unref();
    return () => clearInterval(timer);
  }

  private lapsed(turn: PlacedElsewhere<PlacedTurn>, link: Link): LiveTurn {
    const end = this.over(this.folder(turn), {
      ...lost(`${turn.machine} did not answer for so long that its agent had to end there.`),
      canTakeOver: true,
    });
    link.release(idOf(turn));
    // A machine that was asleep ends the agent itself some seconds after it wakes up. If it connects again, this stop
    // request ends the agent at once.
    link.ask('stop', { turn: idOf(turn), graceMs: 0 }).catch(() => {}); // the machine was removed
    return { pid: 0, ended: Promise.resolve(end), stop: () => {}, processStats: async () => NO_PROCESS };
  }

  /** Copies output until the turn has ended and its output is complete. */
  private async mirror(
    turn: PlacedElsewhere<PlacedTurn>,
    link: Link,
    options: TurnOptions,
    isStopped: () => boolean,
  ): Promise<TurnEnd> {
    const { keepLeftovers } = options;
    let unsent = options.startsAgain ? this.unsent(turn) : null;
    const given = new AbortController();
    const { signal } = given;
    const stopWatching = this.onLapse(turn, link, options, () => given.abort());
    const folder = this.folder(turn);
    const paths = { stdout: join(folder, 'stdout'), stderr: join(folder, 'stderr') };
    for (const stream of STREAMS) append(paths[stream], Buffer.alloc(0));
    let page = PAGE;
    const over = (end: TurnEnd): TurnEnd => {
      stopWatching();
      link.release(idOf(turn));
      return this.over(folder, end);
    };
    for (;;) {
      try {
        const from = { stdout: statSync(paths.stdout).size, stderr: statSync(paths.stderr).size };
        if (from.stdout + from.stderr > this.ports.maxOutput() + OUTPUT_SLACK)
          return over(lost(`${turn.machine} kept sending output after the run was stopped.`));
        const ask = { turn: idOf(turn), keepLeftovers, from, max: page, waitMs: READ_WAIT_MS };
        const askedAt = performance.now();
        const { answer, body } = await link.ask('read', ask, { maxBody: page, signal });
        if (unsent !== null) {
          const request = unsent;
          unsent = null;
          if (answer.state?.state !== 'never_started') dropRequest(folder);
          else if (!isStopped()) {
            const problem = await this.send(turn, request, link, options, signal).then(() => null, asProblem);
            if (problem === null) continue;
            return over({ ...NO_END, endedAt: Date.now(), spawnError: `on ${turn.machine}: ${problem}` });
          }
        }
        page = body.length === page ? LARGE_PAGE : PAGE;
        if (answer.stream) append(paths[answer.stream], body);
        // A runner waits before it sends an empty answer. The delay protects the hub from a runner that does not wait.
        else if (!answer.state && performance.now() - askedAt < RETRY_MS) await delay(RETRY_MS);
        if (!answer.state || answer.state.state === 'live') continue;
        await this.fetchFiles(turn, link, signal);
        return over(this.endHere(turn, link, answer.state));
      } catch (thrown) {
        if (signal.aborted) {
          stopWatching();
          return this.lapsed(turn, link).ended;
        }
        const { code, message } = asSquadError(thrown);
        if (code === 'MACHINE_UNKNOWN') return over(lost(`The machine ${turn.machine} was removed.`));
        this.ports.warn(`The output of ${turn.runId} on ${turn.machine} could not be read: ${message}`);
        await delay(RETRY_MS);
      }
    }
  }

  /** Fetches files that the program wrote, because engines read some of them after its end. */
  private async fetchFiles(turn: TurnRef, link: Link, signal: AbortSignal): Promise<void> {
    const { names } = (await link.ask('wrote', { turn: idOf(turn) }, { signal })).answer;
    for (const name of names) {
      if (OWN_FILES.has(name) || existsSync(join(this.folder(turn), name))) continue;
      const path = `runs/${turn.runId}/turn-${turn.number}/${name}`;
      const ask = { path, from: -MAX_FILE, max: MAX_FILE };
      const { body } = await link.ask('get', ask, { maxBody: MAX_FILE, signal });
      writeFileSync(join(this.folder(turn), name), body, { mode: 0o600, flag: 'wx' });
    }
  }

  /** Writes the record that the wrapper of a local turn would have written. */
  private over(folder: string, end: TurnEnd): TurnEnd {
    try {
      dropRequest(folder);
      const record = join(folder, end.exitCode === null ? 'gone' : 'exit');
      writeFileSync(record, end.exitCode === null ? '' : `${end.exitCode}\n`, { mode: 0o600 });
      utimesSync(record, end.endedAt / 1000, end.endedAt / 1000);
    } catch (thrown) {
      this.ports.warn(`The end of a turn could not be recorded in ${folder}`, thrown);
    }
    return end;
  }

  private endHere(turn: PlacedElsewhere<TurnRef>, link: Link, { state, end: there }: BoxTurnState): TurnEnd {
    const { machine } = turn;
    if (state === 'never_started' || there === null) {
      const wasStarted = this.unsent(turn) === null;
      const why = wasStarted ? noRecord(machine) : `${machine} never got the request to start it.`;
      return { ...lost(why), canTakeOver: true };
    }
    const { lapsed, ...rest } = there;
    const end = { ...rest, endedAt: timeHere(link, there.endedAt) };
    if (lapsed && end.exitCode !== 0)
      return {
        ...{ ...end, exitCode: null, canTakeOver: true },
        lost: `${machine} could not be reached for so long that its agent had to end there.`,
      };
    if (end.exitCode !== null) return end;
    return {
      ...{ ...end, canTakeOver: true },
      lost: `Its process is gone on ${machine} and left no exit record: it was killed there from outside, or ${machine} went down.`,
    };
  }

  private linkOf(machine: string): Link | null {
    try {
      return this.ports.link(machine);
    } catch {
      return null; // the machine was removed
    }
  }

  private folder(turn: TurnRef): string {
    return turnFolder(this.ports.folders.runs, turn);
  }

  /** Translates a command. Squad's own programs have other paths on the machine. */
  private argvThere(argv: readonly string[], { hello }: Link, there: (text: string) => string): string[] {
    const [program, script, ...rest] = argv;
    if (program === this.ports.node && script === this.ports.scriptedAgent)
      return [hello!.node, join(hello!.programs, 'runner.cjs'), 'scripted-agent', ...rest.map(there)];
    return argv.map(there);
  }

  /**
   * Translates paths. Engines build commands and files with paths of this machine, and Squad's own folders have other
   * paths there.
   */
  private translator({ base }: { base: string }): (text: string) => string {
    const { runs, chats, worktrees } = this.ports.folders;
    const ofRepository = new RegExp(`${escaped(worktrees)}/[^/]+/`, 'g');
    return text =>
      text
        .replaceAll(`${runs}/`, () => `${base}/runs/`)
        .replaceAll(`${chats}/`, () => `${base}/chats/`)
        .replace(ofRepository, () => `${base}/worktrees/`);
  }
}

/** Routes each turn to the machine of its run. */
export function placedExecutor(local: Executor, remote: RemoteTurns): Executor {
  const isPlaced = <T extends PlacedTurn>(turn: T): turn is T & { machine: string } => turn.machine !== null;
  return {
    ...local,
    start: (turn, options) => (isPlaced(turn) ? remote : local).start(turn as never, options),
    hasBegun: turn => (isPlaced(turn) ? remote : local).hasBegun(turn),
    find: (turn, options) => (isPlaced(turn) ? remote : local).find(turn as never, options),
  };
}

/**
 * Converts a time of the machine to a time of the hub. The clock of the machine may be wrong, so a time in the future
 * becomes the current time.
 */
const timeHere = (link: Link, at: number): number =>
  Math.min(Date.now(), Math.max(0, Math.round(at - link.clockAheadMs)));

function dropRequest(folder: string): void {
  rmSync(join(folder, REQUEST), { force: true });
}

/** Reason that a machine gave for refusing a start. Errors that are not about the start are thrown again. */
function asProblem(thrown: unknown): string {
  if (thrown instanceof SquadError || !(thrown instanceof Error) || thrown.name === 'AbortError')
    throw thrown;
  return thrown.message;
}

function append(path: string, bytes: Buffer): void {
  appendFileSync(path, bytes, { mode: 0o600 });
}

/** Regular files below a folder, without those that the machine does not need. */
function filesBelow(folder: string | null): string[] {
  if (folder === null || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap(entry =>
    entry.isFile() && !OWN_FILES.has(entry.name) && !NEVER_SENT.has(entry.name)
      ? join(entry.parentPath, entry.name)
      : [],
  );
}

const NEVER_SENT = new Set(['stdout', 'stderr', 'pid', 'exit', 'gone', 'lease', 'lapsed']);

const idOf = ({ runId, number }: TurnRef): TurnId => ({ runId, number });

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function onMachine(machine: string, thrown: unknown): SquadError {
  const { code, message } = asSquadError(thrown);
  const raw = (thrown as NodeJS.ErrnoException).code;
  if (raw !== 'SPAWN_FAILED' && code !== 'INTERNAL') return asSquadError(thrown);
  return new SquadError('SPAWN_FAILED', `On ${machine}: ${message}`, {
    suggestions: [`\`squad machines doctor ${shellWord(machine)}\` checks the machine.`],
  });
}

const noRecord = (machine: string): string => `${machine} has no record of it any more.`;

const NO_END: TurnEnd = { exitCode: null, spawnError: null, leftovers: [], endedAt: 0 };
const lost = (why: string): TurnEnd => ({ ...NO_END, endedAt: Date.now(), lost: why });
const AWAY: BoxTurnState = { state: 'live', pid: 0, startedAt: 0, end: null };
const NO_PROCESS: ProcessStats = { alive: false, stopped: false, cpuMs: 0, ioBytes: null, processes: 0 };
