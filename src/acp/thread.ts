import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentContext, SessionUpdate, StopReason } from '@agentclientprotocol/sdk';
import type { EditorServer } from '../core/gateway/editor-servers.ts';
import type { Output } from '../operations/operations.ts';
import { asSquadError, isErrorCode, SquadError } from '../schema/error.ts';
import { newRunId, type RunId } from '../schema/ids.ts';
import type { InboxItem } from '../schema/inbox.ts';
import type { Approvals, Permission } from '../schema/run.ts';
import type { ThreadHub } from './thread-hub.ts';
import { message, optionsOf, planOf, questionText, StepsShown, usageOf } from './updates.ts';

/** Agents without events of their own print text, which no event announces. */
const OUTPUT_POLL_MS = 500;

export interface ThreadSetting {
  /** Null for an agent without a role. */
  roleId: string | null;
  /** Permission and approvals that the editor chose. Null to use those of the role. */
  rights: { permission: Permission; approvals: Approvals } | null;
}

interface ThreadPorts {
  hub: ThreadHub;
  client: AgentContext;
  servers: readonly EditorServer[];
}

type Shown = Output<'show_thread'>;

/** A prompt that the editor waits for. */
interface Open {
  /** True once the hub has accepted the prompt. */
  isSent: boolean;
  isCancelled: boolean;
  done: PromiseWithResolvers<StopReason>;
}

/**
 * One conversation of an editor. It only shows what happens in the hub, which owns the runs. So it can be lost at any
 * time, and a new object with the same id continues.
 */
export class Thread {
  readonly id: RunId;
  setting: ThreadSetting;
  private readonly ports: ThreadPorts;
  private shown: Shown | null = null;
  /** The part of the output that the editor has. */
  private position: { run: RunId; turn: number; offset: number } | null = null;
  /** Runs and messages whose text the editor has. */
  private readonly said = new Set<string>();
  private steps: StepsShown | null = null;
  private readonly open = new Set<Open>();
  /** Questions that the editor was asked, by id, with the controller that withdraws each. */
  private readonly asked = new Map<string, AbortController>();
  /** The question that the next prompt answers. */
  private awaiting: InboxItem | null = null;
  private lastPlan = '[]';
  private lastUsage = '';
  private isDirty = false;
  private hasOutput = false;
  private wake = () => {};
  private watching: Promise<void> | null = null;
  /** Queue of prompts, so that they reach the hub in the order in which the user sent them. */
  private sending: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(id: RunId, setting: ThreadSetting, ports: ThreadPorts) {
    this.id = id;
    this.setting = setting;
    this.ports = ports;
  }

  /** True once the first run has been requested. From then on the role of the thread cannot change. */
  get hasBegun(): boolean {
    return this.shown !== null;
  }

  /** Starts a run, continues the last one, or answers the open question. Resolves when there is nothing left to show. */
  async prompt(text: string): Promise<StopReason> {
    const open: Open = { isSent: false, isCancelled: false, done: Promise.withResolvers() };
    this.open.add(open);
    try {
      const sent = this.sending.then(async () => {
        if (open.isCancelled) return;
        await this.send(text);
        // Set both fields together. Otherwise the prompt could be answered with the end of the previous run.
        open.isSent = true;
        this.isDirty = true;
      });
      this.sending = sent.catch(() => {});
      await sent;
      if (!open.isSent) return 'cancelled';
      this.watch();
      return await open.done.promise;
    } finally {
      this.open.delete(open);
    }
  }

  /** Stops the running agents. Open prompts end with `cancelled`. */
  async cancel(): Promise<void> {
    for (const open of this.open) open.isCancelled = true;
    await this.sending;
    const { hub } = this.ports;
    const live = this.shown === null ? [] : (await this.refresh()).runs.filter(({ isOver }) => !isOver);
    for (const { id } of live) {
      await hub.call('interrupt_run', { run: id }).catch(() => {}); // an agent that cannot be interrupted is stopped below
      await hub.call('cancel_run', { spawn_id: id });
    }
    if (live.length === 0) this.endPrompts('cancelled');
    this.watch();
  }

  /**
   * Loads the conversation. With `isReplayed` it is sent to the editor, otherwise only its current position is read.
   */
  async load(isReplayed: boolean): Promise<void> {
    const { runs } = await this.refresh(isReplayed);
    await this.passOnOutput(isReplayed ? 'replay' : 'silent');
    if (runs.at(-1)?.isOver) this.ports.hub.release();
    else this.watch();
  }

  close(): void {
    this.isClosed = true;
    this.endPrompts('cancelled');
    this.wake();
  }

  private async send(text: string): Promise<void> {
    const { hub, servers } = this.ports;
    const { awaiting } = this;
    if (awaiting !== null) {
      const isTaken = await this.answer(awaiting, text);
      this.awaiting = null;
      if (isTaken) return;
    }
    const { roleId, rights } = this.setting;
    const run = this.shown === null ? this.id : newRunId();
    const messageId = randomUUID();
    this.said.add(run).add(messageId);
    const { warnings } = await hub.call('continue_thread', {
      ...{ thread: this.id, run, message: messageId, text, roleId, servers: [...servers] },
      ...rights,
    });
    for (const warning of warnings) await this.update(message('agent_thought_chunk', warning));
    await this.refresh();
  }

  /** Answers the question. False if it is already closed; the text is then sent as an ordinary prompt. */
  private async answer({ id }: InboxItem, answer: string): Promise<boolean> {
    try {
      await this.ports.hub.call('answer_question', { item: id, answer });
    } catch (thrown) {
      if (!['ALREADY_ANSWERED', 'INBOX_UNKNOWN'].includes(asSquadError(thrown).code)) throw thrown;
      return false;
    }
    await this.refresh();
    return true;
  }

  /** Reads the state of the thread, and passes on what changed in it. */
  private async refresh(isShown = true): Promise<Shown> {
    this.isDirty = false;
    const shown = await this.ports.hub.call('show_thread', { thread: this.id });
    this.shown = shown;
    if (!isShown) return shown;
    const entries = planOf(shown);
    const plan = JSON.stringify(entries);
    const isNewPlan = plan !== this.lastPlan;
    this.lastPlan = plan;
    if (isNewPlan) await this.update({ sessionUpdate: 'plan', entries });
    const usage = usageOf(shown);
    const isNewUsage = usage !== null && JSON.stringify(usage) !== this.lastUsage;
    this.lastUsage = JSON.stringify(usage);
    if (isNewUsage) await this.update(usage);
    return shown;
  }

  /** Follows the runs until all have ended and everything was passed on. */
  private watch(): void {
    this.isDirty = true;
    this.wake();
    this.watching ??= this.follow()
      .catch(thrown => {
        for (const { isSent, done } of this.open) if (isSent) done.reject(thrown);
      })
      .finally(() => {
        this.watching = null;
        this.ports.hub.release();
        // A prompt may have arrived while the connection to the hub was being closed.
        if ([...this.open].some(({ isSent }) => isSent) && !this.isClosed) this.watch();
      });
  }

  private async follow(): Promise<void> {
    const { hub } = this.ports;
    const stop = new AbortController();
    const { workspace, last } = await this.refresh();
    let failure: unknown = null;
    const following = hub
      .follow({ workspace, after: last, signal: stop.signal }, ({ body }) => {
        if (body.type === 'run.activity') this.hasOutput = true;
        else this.isDirty = true;
        this.wake();
      })
      .catch(thrown => {
        failure = thrown;
        this.wake();
      });
    try {
      while (!this.isClosed) {
        if (failure !== null) throw failure;
        const shown = this.isDirty || this.shown === null ? await this.refresh() : this.shown;
        this.hasOutput = false;
        await this.passOnOutput('live');
        this.passOnQuestions(shown.asks);
        const last = shown.runs.at(-1);
        if (this.isDirty || this.hasOutput) continue;
        if (last?.isOver) return this.finish(last);
        const woken = new Promise<void>(resolve => {
          this.wake = resolve;
        });
        await Promise.race([woken, sleep(OUTPUT_POLL_MS)]);
      }
    } finally {
      stop.abort();
      await following;
    }
  }

  private finish({ status, error, notes }: Shown['runs'][number]): void {
    for (const { isSent, isCancelled, done } of this.open) {
      if (!isSent) continue;
      if (isCancelled || status === 'cancelled') done.resolve('cancelled');
      else if (error?.code === 'TURN_LIMIT') done.resolve('max_turn_requests');
      else if (error === null || status === 'needs_you') done.resolve('end_turn');
      else
        done.reject(
          new SquadError(isErrorCode(error.code) ? error.code : 'ENGINE_FAILED', error.message, {
            suggestions: notes,
          }),
        );
    }
  }

  private endPrompts(reason: StopReason): void {
    for (const { isSent, isCancelled, done } of this.open)
      if (isSent) done.resolve(isCancelled ? 'cancelled' : reason);
  }

  /** Sends the editor the new output of the run, from the last known position to the current end. */
  private async passOnOutput(mode: 'live' | 'replay' | 'silent'): Promise<void> {
    const update = async (...updates: SessionUpdate[]) => {
      if (mode !== 'silent') for (const each of updates) await this.update(each);
    };
    const { runs } = this.shown!;
    const [first] = runs;
    if (first) this.position ??= { run: first.id, turn: 1, offset: 0 };
    for (let at = runs.findIndex(({ id }) => id === this.position?.run); at >= 0 && at < runs.length; ) {
      const run = runs[at]!;
      const { turn, offset } = this.position!;
      if (this.isUnsaid(run.id)) await update(message('user_message_chunk', run.task));
      for (const { id, text } of run.told.filter(told => told.turn === turn))
        if (this.isUnsaid(id)) await update(message('user_message_chunk', text));
      this.steps ??= new StepsShown(`${run.id}-${turn}`);
      const read = await this.ports.hub.call('read_steps', { run: run.id, turn, offset });
      this.position = { run: run.id, turn, offset: read.nextOffset };
      await update(...this.steps.updates(read.steps));
      if (!read.isOver && read.nextOffset > offset) continue;
      const isLast = turn >= run.turns;
      // The output may be newer than the state of the run.
      if (!read.isOver || (isLast && !run.isOver)) return;
      if (!isLast) {
        await update(...this.steps.end(null));
        this.steps = null;
        this.position = { run: run.id, turn: turn + 1, offset: 0 };
        continue;
      }
      if (this.isUnsaid(`${run.id} end`)) {
        await update(...this.steps.end(read.answer));
        await update(...run.notes.map(note => message('agent_thought_chunk', note)));
        // In live mode the error is already the reply to the editor's prompt.
        if (mode === 'replay' && run.error)
          await update(message('agent_message_chunk', `${run.error.code}: ${run.error.message}`));
      }
      const next = runs[++at];
      if (!next) return;
      this.steps = null;
      this.position = { run: next.id, turn: 1, offset: 0 };
    }
  }

  /** True at the first call for each id, false afterwards. */
  private isUnsaid(id: string): boolean {
    if (this.said.has(id)) return false;
    this.said.add(id);
    return true;
  }

  private passOnQuestions(asks: readonly InboxItem[]): void {
    for (const [id, withdrawn] of this.asked)
      if (!asks.some(item => item.id === id)) {
        withdrawn.abort();
        this.asked.delete(id);
      }
    if (this.awaiting !== null && !asks.some(({ id }) => id === this.awaiting?.id)) this.awaiting = null;
    for (const item of asks) {
      if (this.asked.has(item.id)) continue;
      const withdrawn = new AbortController();
      this.asked.set(item.id, withdrawn);
      void this.ask(item, withdrawn.signal).catch(() => {}); // the item stays open in the inbox
    }
  }

  private async ask(item: InboxItem, withdrawn: AbortSignal): Promise<void> {
    const { client, hub } = this.ports;
    const options = optionsOf(item);
    if (options.length === 0) {
      await this.update(message('agent_message_chunk', questionText(item)));
      this.awaiting = item;
      return this.endPrompts('end_turn');
    }
    const { outcome } = await client.request(
      'session/request_permission',
      {
        sessionId: this.id,
        toolCall: {
          ...{ toolCallId: item.id, title: item.question, status: 'pending' },
          kind: item.kind === 'permission' ? 'execute' : 'other',
          ...(item.details !== null && {
            content: [{ type: 'content', content: { type: 'text', text: item.details } }],
          }),
        },
        options: options.map(({ answer, ...option }) => option),
      },
      { cancellationSignal: withdrawn, stopWaitingOnCancel: true },
    );
    if (outcome.outcome !== 'selected') return;
    const chosen = options.find(({ optionId }) => optionId === outcome.optionId);
    if (chosen) await hub.call('answer_question', { item: item.id, answer: chosen.answer });
  }

  private update(update: SessionUpdate): Promise<void> {
    return this.ports.client.notify('session/update', { sessionId: this.id, update });
  }
}
