import type { HubSettings } from '../schema/config.ts';
import type { EngineSpec } from '../schema/engine-spec.ts';
import { asSquadError } from '../schema/error.ts';
import type { EventBody, NewEvent } from '../schema/event.ts';
import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run, type RunError, type StopReason } from '../schema/run.ts';
import { openChat } from './chat.ts';
import { SpawnFuse } from './limits.ts';
import { LiveRun, type RunMaterial } from './live-run.ts';
import { HARD_LIMIT_GRACE_MS, judge, stopInForce } from './outcome.ts';
import { watchOutput } from './output-watch.ts';
import { chatBusy, type PlannedRun, type PlannedSquad, turnInput } from './plan.ts';
import type { Change, Clock, Engines, Executor, LiveTurn, RunFiles, Store, TurnEnd } from './ports.ts';
import { nextStatus, type RunStep } from './run-state.ts';

export interface RunnerPorts {
  clock: Clock;
  store: Store;
  files: RunFiles;
  executor: Executor;
  engines: Engines;
  settings(): HubSettings;
  /** Something that must not stop the hub went wrong. */
  warn(message: string, cause: unknown): void;
}

const RETRY_MS = 1_000;
const READ_TRIES = 5;

/** Owns every run that has not ended: the queue, the turns at work, and the one way a run ends. */
export class Runner {
  private readonly ports: RunnerPorts;
  private readonly live = new Map<RunId, LiveRun>();
  private readonly queue: LiveRun[] = [];
  private readonly fuse = new SpawnFuse();
  private readonly outputWatch: { close(): void };
  private active = 0;
  private closed = false;

  constructor(ports: RunnerPorts) {
    this.ports = ports;
    this.outputWatch = watchOutput({
      ...ports,
      turns: () => [...this.live.values()].flatMap(({ turn, stop }) => (turn && stop === null ? [turn] : [])),
      onTooMuch: runId => this.stop(runId, 'output_limit'),
    });
  }

  /** Writes the squad down and sets it going. When this settles every member is on disk and will be accounted for. */
  async submit({ squad, runs }: PlannedSquad, env: Record<string, string>): Promise<void> {
    const { clock, store, files, settings } = this.ports;
    for (const { run } of runs) this.refuseBusyChat(run.chatId);
    this.fuse.admit(runs.length, runs[0]?.run.depth ?? 0, settings(), clock.now());
    try {
      const entries = await Promise.all(runs.map(planned => this.writeFiles(planned, env)));
      await store.commit({
        squads: [squad],
        runs: runs.map(({ run }) => ({ ...run })),
        events: [
          {
            at: squad.createdAt,
            runId: null,
            squadId: squad.id,
            body: { type: 'squad.created', members: runs.length },
          },
          ...runs.map(({ run }) =>
            this.event(run, { type: 'run.queued', roleId: run.roleId, engine: run.engine }),
          ),
        ],
      });
      for (const entry of entries) this.live.set(entry.run.id, entry);
      for (const entry of entries) this.enqueue(entry);
    } catch (thrown) {
      await Promise.allSettled(runs.map(({ run }) => files.remove(run.id)));
      throw thrown;
    }
  }

  /** The run as it is now, if it has not ended; ended ones are in the store. */
  current(id: RunId): Run | null {
    return this.live.get(id)?.run ?? null;
  }

  liveRuns(): Run[] {
    return [...this.live.values()].map(entry => entry.run);
  }

  get busy(): boolean {
    return this.live.size > 0;
  }

  /** Settles when the run has ended and its end is on disk, or when the signal fires. */
  async untilEnded(id: RunId, signal: AbortSignal): Promise<void> {
    const entry = this.live.get(id);
    if (!entry || signal.aborted) return;
    await new Promise<void>(settle => {
      const stop = () => settle();
      signal.addEventListener('abort', stop, { once: true });
      void entry.over.then(() => {
        signal.removeEventListener('abort', stop);
        settle();
      });
    });
  }

  /** False when there is nothing left to stop. Settles once the wish is on disk. */
  async stop(id: RunId, reason: StopReason): Promise<boolean> {
    const entry = this.live.get(id);
    if (!entry || isEnd(entry.run.status)) return false;
    if (entry.isEnding) {
      await entry.over;
      return false;
    }
    const waiting = this.queue.indexOf(entry);
    if (waiting >= 0) this.queue.splice(waiting, 1);
    if (entry.stop === null) {
      entry.stop = reason;
      entry.stopAskedAt = this.ports.clock.now();
      if (entry.turn) entry.turn.stop = reason;
      // On disk before the first signal: whoever reads the exit record later must know that it was us.
      const change = {
        turns: entry.turn ? [{ ...entry.turn }] : [],
        events: [this.event(entry.run, { type: 'run.stopping' as const, reason })],
      };
      await this.ports.store
        .commit(change)
        .catch(thrown => this.ports.warn(`Stopping ${id} could not be recorded`, thrown));
    }
    if (waiting >= 0) await this.finish(entry, 'cancel', null, null);
    else entry.process?.stop(this.ports.settings()['stop.grace_ms']);
    return true;
  }

  /** Takes in a run found at start that never got going. It waits for `pump`. */
  requeue(run: Run, spec: EngineSpec, material: RunMaterial): void {
    const entry = new LiveRun(run, this.ports.engines.create(spec), material);
    this.live.set(run.id, entry);
    this.queue.push(entry);
  }

  /** Takes in a run found at start whose agent is at work. */
  async adopt(entry: LiveRun, process: LiveTurn, startedAt: number): Promise<void> {
    this.live.set(entry.run.id, entry);
    this.activate(entry);
    // The hub may have died between the start and its record.
    if (entry.run.status === 'queued') await this.recordStart(entry, process.pid, startedAt);
    const seen = await this.ports.files.size({ runId: entry.run.id, number: entry.turnNumber }, 'stdout');
    this.watch(entry, process, seen);
  }

  /** Takes in a run found at start whose turn ended while no hub was there. */
  async settle(entry: LiveRun, end: TurnEnd, startedAt: number): Promise<void> {
    this.live.set(entry.run.id, entry);
    this.activate(entry);
    if (entry.run.status === 'queued') await this.recordStart(entry, null, startedAt);
    entry.follow(this.ports.files, this.ports.clock, () => {}, Number.POSITIVE_INFINITY);
    await this.turnEnded(entry, end);
  }

  /** Ends a found run that has nothing left to read a result from. */
  async lose(run: Run, error: RunError): Promise<void> {
    const turn = (await this.ports.store.turns(run.id)).at(-1);
    const turns = turn && turn.endedAt === null ? [{ ...turn, endedAt: this.ports.clock.now() }] : [];
    await this.commitEnd(run, 'lose', error, { turns, events: [] }, null);
  }

  /** Ends a found run that was to be stopped before it got going. */
  async cancelFound(run: Run): Promise<void> {
    await this.commitEnd(run, 'cancel', null, { events: [] }, null);
  }

  /** Starts what may start. Also called when the limit was raised. */
  pump(): void {
    while (
      !this.closed &&
      this.queue.length > 0 &&
      this.active < this.ports.settings()['limits.concurrency']
    ) {
      const entry = this.queue.shift()!;
      this.activate(entry);
      void this.launch(entry);
    }
  }

  /** Lets go of everything; agents at work go on and the next hub finds them. */
  close(): void {
    this.closed = true;
    this.outputWatch.close();
    for (const entry of this.live.values()) entry.release();
  }

  private enqueue(entry: LiveRun): void {
    this.queue.push(entry);
    this.pump();
  }

  private activate(entry: LiveRun): void {
    entry.isActive = true;
    this.active++;
  }

  private async launch(entry: LiveRun): Promise<void> {
    const { files, executor } = this.ports;
    const { run } = entry;
    const material = entry.material!;
    try {
      if (run.chatIsNew && run.chatId === null) {
        const chatId = await openChat(entry, material, files, executor);
        // A create-chat command may print the id of a chat that is not new at all.
        this.refuseBusyChat(chatId);
        run.chatId = chatId;
        // On disk before the agent has it: a hub that dies now must not open another, nor forget this one.
        await this.commit({ runs: [{ ...run }], chats: chatOf(run, run.id), events: [] });
      }
      const command = await entry.engine.command(
        turnInput(run, material.prompt, material.promptFile, material.env),
      );
      if (entry.stop !== null) return await this.finish(entry, 'cancel', null, null);
      const startedAt = this.ports.clock.now();
      const process = await executor.start(
        {
          runId: run.id,
          number: entry.turnNumber,
          command,
          cwd: run.directory,
          hardLimitMs: run.timeoutMs + HARD_LIMIT_GRACE_MS,
        },
        { keepLeftovers: run.keepLeftovers },
      );
      await this.recordStart(entry, process.pid, startedAt);
      this.watch(entry, process, 0);
    } catch (thrown) {
      const error = asSquadError(thrown);
      if (entry.stop !== null) return await this.finish(entry, 'cancel', null, null);
      await this.finish(entry, 'fail', { code: error.code, message: error.message }, null);
    }
  }

  private async recordStart(entry: LiveRun, pid: number | null, startedAt: number): Promise<void> {
    const { run } = entry;
    run.status = nextStatus(run.status, 'start');
    run.startedAt = startedAt;
    entry.turn = {
      runId: run.id,
      number: entry.turnNumber,
      pid,
      startedAt,
      deadlineAt: startedAt + run.timeoutMs,
      stop: entry.stop,
      endedAt: null,
      exitCode: null,
      leftovers: [],
    };
    await this.commit({
      runs: [{ ...run }],
      turns: [{ ...entry.turn }],
      chats: chatOf(run, run.id),
      events: [this.event(run, { type: 'run.started', turn: entry.turnNumber, pid: pid ?? 0 })],
    });
  }

  private watch(entry: LiveRun, process: LiveTurn, seen: number): void {
    const { clock, store, files, warn } = this.ports;
    entry.process = process;
    entry.follow(
      files,
      clock,
      body =>
        void store
          .commit({ events: [this.event(entry.run, body)] })
          .catch(thrown => warn('An activity was not recorded', thrown)),
      seen,
    );
    entry.atDeadline(clock, () => void this.stop(entry.run.id, 'timeout'));
    if (entry.stop !== null) process.stop(this.ports.settings()['stop.grace_ms']);
    void process.ended.then(end => this.turnEnded(entry, end));
  }

  private async turnEnded(entry: LiveRun, end: TurnEnd): Promise<void> {
    if (this.closed) return;
    await this.readToEnd(entry);
    entry.isEnding = true;
    entry.stop = stopInForce(entry.stop, entry.stopAskedAt, end);
    if (entry.turn) entry.turn.stop = entry.stop;
    const outcome = judge({
      end,
      stop: entry.stop,
      deadlineAt: entry.turn?.deadlineAt ?? Number.POSITIVE_INFINITY,
      events: entry.engine.parseLine ? { end: entry.end } : null,
    });
    const answer = entry.end?.answer;
    if (answer !== undefined)
      await this.retry('an answer', () => this.ports.files.saveAnswer(entry.run.id, answer));
    await this.finish(entry, outcome.step, outcome.error, end);
  }

  /** An output that cannot be read just now, for want of descriptors say, must not keep a run from ending. */
  private async readToEnd(entry: LiveRun): Promise<void> {
    const { files, clock, warn } = this.ports;
    for (let tries = 0; tries < READ_TRIES; tries++) {
      try {
        return await entry.drain();
      } catch (thrown) {
        warn(`The output of ${entry.run.id} could not be read`, thrown);
        await new Promise(wake => setTimeout(wake, RETRY_MS));
        entry.follow(files, clock, () => {}, Number.POSITIVE_INFINITY);
      }
    }
  }

  private async finish(
    entry: LiveRun,
    step: RunStep,
    error: RunError | null,
    end: TurnEnd | null,
  ): Promise<void> {
    const { run, turn } = entry;
    entry.isEnding = true;
    entry.release();
    if (turn && end)
      Object.assign(turn, { endedAt: end.endedAt, exitCode: end.exitCode, leftovers: end.leftovers });
    run.usage = entry.usage;
    await this.commitEnd(run, step, error, { turns: turn ? [{ ...turn }] : [], events: [] }, end);
    this.live.delete(run.id);
    entry.settle();
    if (entry.isActive) this.active--;
    this.pump();
  }

  private async commitEnd(
    run: Run,
    step: RunStep,
    error: RunError | null,
    change: Change,
    end: TurnEnd | null,
  ): Promise<void> {
    const { clock } = this.ports;
    // The secrets in there go before the end is on disk: after it nobody would come back for them. Only a run that could
    // not be started may be started again, by the next hub, if this one dies now.
    const mayStartAgain = run.startedAt === null && step === 'fail';
    if (!mayStartAgain) await this.dropEnvironment(run.id);
    const ended: Run = {
      ...run,
      status: nextStatus(run.status, step),
      error,
      endedAt: end?.endedAt ?? clock.now(),
    };
    const body: EventBody = {
      type: 'run.ended',
      status: ended.status,
      exitCode: end?.exitCode ?? null,
      error,
      usage: run.usage,
      leftovers: end?.leftovers ?? [],
      durationMs: run.startedAt === null ? null : Math.max(0, ended.endedAt! - run.startedAt),
    };
    await this.commit({
      ...change,
      runs: [ended],
      chats: chatOf(run, null),
      events: [this.event(run, body)],
    });
    Object.assign(run, ended);
    if (mayStartAgain) await this.dropEnvironment(run.id);
  }

  private async dropEnvironment(id: RunId): Promise<void> {
    const { files, warn } = this.ports;
    await files
      .dropEnvironment(id)
      .catch(thrown => warn(`The environment of ${id} is still on disk`, thrown));
  }

  private async writeFiles(
    { run, prompt, engine, spec }: PlannedRun,
    env: Record<string, string>,
  ): Promise<LiveRun> {
    const turn = { runId: run.id, number: 1 };
    const { files } = this.ports;
    const { promptFile } = await files.prepare(turn, prompt);
    await Promise.all([
      files.saveEnvironment(run.id, env),
      files.write(turn, 'engine.json', JSON.stringify(spec)),
    ]);
    return new LiveRun(run, engine, { prompt, promptFile, env });
  }

  private refuseBusyChat(chatId: string | null): void {
    if (chatId === null) return;
    for (const other of this.live.values())
      if (other.run.chatId === chatId) throw chatBusy(chatId, `run ${other.run.id}`);
  }

  /** Facts about a process that exists cannot be refused: a full disk or a locked database is waited out. */
  private commit(change: Change): Promise<void> {
    return this.retry('a change of state', () => this.ports.store.commit(change));
  }

  private async retry(what: string, act: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await act();
      } catch (thrown) {
        if (this.closed) throw thrown;
        this.ports.warn(`Could not write ${what}; trying again`, thrown);
        await new Promise(wake => setTimeout(wake, RETRY_MS));
      }
    }
  }

  private event(run: Run, body: EventBody): NewEvent {
    return { at: this.ports.clock.now(), runId: run.id, squadId: run.squadId, body };
  }
}

const chatOf = (run: Run, holder: RunId | null) =>
  run.chatId === null
    ? []
    : [{ id: run.chatId, engine: run.engine, runId: holder, createdAt: run.createdAt }];
