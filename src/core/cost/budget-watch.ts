import type { Clock } from '../../base/clock.ts';
import type { HubSettings } from '../../schema/config.ts';
import type { EventBody } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Run, Usage } from '../../schema/run.ts';
import type { Store } from '../ports/store.ts';
import type { LiveRun } from '../runs/live-run.ts';
import {
  type BudgetScope,
  checkDailyBudget,
  review,
  runBudget,
  type Spending,
  startOfDay,
} from './budget.ts';
import { type PriceList, withCost } from './prices.ts';
import { usageOfBoth } from './usage.ts';

export interface BudgetWatchPorts {
  clock: Clock;
  store: Store;
  settings(): HubSettings;
  prices(): PriceList;
  live(): Iterable<LiveRun>;
  stop(id: RunId): void;
  record(run: Run, body: EventBody): void;
  warn(message: string, cause: unknown): void;
}

const CHECK_INTERVAL_MS = 1_000;
/** How often hubs of one database tell each other what running turns have cost. */
const SHARE_INTERVAL_MS = 2_000;

/** Enforces budgets as soon as runs report usage: those of the run, its squad and the day. */
export class BudgetWatch {
  private readonly ports: BudgetWatchPorts;
  private readonly checkedAt = new Map<RunId, number>();
  private readonly waiting = new Map<RunId, NodeJS.Timeout>();
  private readonly warned = new Map<RunId, Set<BudgetScope>>();
  private readonly sharing: NodeJS.Timeout | undefined;
  /** The cost that other hubs know. */
  private shared: number | null = null;

  constructor(ports: BudgetWatchPorts) {
    this.ports = ports;
    if (!ports.store.hubCalls) return;
    const share = () => this.shareCost().catch(thrown => ports.warn('The cost was not shared', thrown));
    this.sharing = setInterval(() => void share(), SHARE_INTERVAL_MS).unref();
  }

  /** Usage of a run so far, with an estimated cost if only tokens are known. */
  usageOf(entry: LiveRun): Usage | null {
    return usageOfBoth(entry.usageBefore, this.usageOfTurn(entry));
  }

  /** Usage of a running run so far, for its activity. Empty if it has not changed since the last call. */
  newlySpent(entry: LiveRun): Pick<Extract<EventBody, { type: 'run.activity' }>, 'spent'> {
    const usage = this.usageOf(entry);
    if (usage === null) return {};
    const tokens = (usage.input ?? 0) + (usage.output ?? 0);
    const spent = { tokens: tokens > 0 ? tokens : null, costUsd: usage.costUsd };
    const before = entry.spentInEvents;
    if (spent.tokens === before?.tokens && spent.costUsd === before.costUsd) return {};
    entry.spentInEvents = spent;
    return { spent };
  }

  private usageOfTurn({ report, chatTotals, run }: LiveRun): Usage | null {
    return withCost(report.usageOfTurn(chatTotals), run.model, this.ports.prices());
  }

  /** Throws when the day's budget is used up. */
  async admit(): Promise<void> {
    const settings = this.ports.settings();
    if (settings['budget.day_usd'] !== undefined) checkDailyBudget(await this.today(), settings);
  }

  /** Checks the budgets now, or later if the last check was too recent. */
  onUsage(entry: LiveRun): void {
    const { id } = entry.run;
    if (this.waiting.has(id)) return;
    const since = this.ports.clock.monotonic() - (this.checkedAt.get(id) ?? Number.NEGATIVE_INFINITY);
    const wait = Math.max(0, CHECK_INTERVAL_MS - since);
    this.waiting.set(
      id,
      setTimeout(() => {
        this.waiting.delete(id);
        this.checkedAt.set(id, this.ports.clock.monotonic());
        this.check(entry).catch(thrown => this.ports.warn(`The cost of ${id} could not be checked`, thrown));
      }, wait).unref(),
    );
  }

  /** Checks the usage that the run reported last, then removes the run. */
  async atEnd(entry: LiveRun): Promise<void> {
    const { id } = entry.run;
    clearTimeout(this.waiting.get(id));
    this.waiting.delete(id);
    await this.check(entry);
    this.noteUnknown(entry);
    this.checkedAt.delete(id);
    this.warned.delete(id);
  }

  /** A budget that could not be checked does not stop the run; a note in the result says why. */
  private noteUnknown(entry: LiveRun): void {
    const { run } = entry;
    const budgetUsd = runBudget(run.options.budgetUsd, this.ports.settings());
    const usage = this.usageOf(entry);
    if (budgetUsd === null || usage?.costUsd != null || run.startedAt === null) return;
    run.notes.push(`The budget of ${budgetUsd} USD could not be checked: ${whyUnknown(usage, entry)}`);
  }

  private async check(entry: LiveRun): Promise<void> {
    const { run } = entry;
    const spentUsd = this.usageOf(entry)?.costUsd ?? null;
    if (spentUsd === null) return;
    const { warn, over } = review(await this.spendings(run, spentUsd));
    const warned = this.warned.get(run.id) ?? new Set();
    this.warned.set(run.id, warned);
    for (const spending of warn) {
      if (warned.has(spending.scope)) continue;
      warned.add(spending.scope);
      this.ports.record(run, { type: 'run.budget', ...spending });
    }
    if (over === null) return;
    for (const spender of this.spendersOf(over.scope, entry)) {
      spender.overBudget ??= over;
      if (isToBeStopped(spender, over.scope)) this.ports.stop(spender.run.id);
    }
  }

  /** Runs that share the exceeded budget. */
  private spendersOf(scope: BudgetScope, entry: LiveRun): LiveRun[] {
    if (scope === 'run') return [entry];
    const live = [...this.ports.live()];
    return scope === 'day' ? live : live.filter(({ run }) => run.squadId === entry.run.squadId);
  }

  private async spendings({ squadId, options }: Run, spentUsd: number): Promise<Spending[]> {
    const settings = this.ports.settings();
    const spendings: Spending[] = [];
    const ofRun = runBudget(options.budgetUsd, settings);
    if (ofRun !== null) spendings.push({ scope: 'run', spentUsd, budgetUsd: ofRun });
    const ofSquad = settings['budget.squad_usd'];
    if (ofSquad !== undefined)
      spendings.push({
        scope: 'squad',
        budgetUsd: ofSquad,
        spentUsd:
          (await this.ports.store.spent({ squadId })) + this.unwritten(run => run.squadId === squadId),
      });
    const ofDay = settings['budget.day_usd'];
    if (ofDay !== undefined) spendings.push({ scope: 'day', budgetUsd: ofDay, spentUsd: await this.today() });
    return spendings;
  }

  private async today(): Promise<number> {
    const now = this.ports.clock.now();
    const since = startOfDay(now);
    // A run with a time in the future was stored before the clock was set back, so it does not count.
    const { store } = this.ports;
    return (
      (await store.spent({ since, until: now })) +
      this.unwritten(run => run.createdAt >= since) +
      (await store.runningCostElsewhere(since))
    );
  }

  /** Tells other hubs of the database what the running turns of this one have cost, if that has changed. */
  private async shareCost(): Promise<void> {
    const { clock, settings, store } = this.ports;
    if (settings()['budget.day_usd'] === undefined) return;
    const since = startOfDay(clock.now());
    const usd = this.unwritten(run => run.createdAt >= since);
    if (usd === this.shared) return;
    this.shared = usd;
    await store.saveRunningCost(usd);
  }

  close(): void {
    clearInterval(this.sharing);
  }

  /** Cost of running turns, which the database gets only after their end. */
  private unwritten(belongs: (run: Run) => boolean): number {
    let sum = 0;
    for (const entry of this.ports.live())
      if (belongs(entry.run)) sum += this.usageOfTurn(entry)?.costUsd ?? 0;
    return sum;
  }
}

/** Whether to stop a run. Stopping a turn that has already ended would save nothing. */
function isToBeStopped({ run, isEnding, report }: LiveRun, scope: BudgetScope): boolean {
  if (scope === 'run') return run.options.stopAtBudget && !isEnding && !report.hasEnded;
  // A turn whose end is being recorded may belong to a run that will wait for a review. Such a run is stopped.
  return isEnding || !report.hasEnded;
}

function whyUnknown(usage: Usage | null, { run: { engine, model }, report, chatTotals }: LiveRun): string {
  if (report.usageNotes(chatTotals).length > 0) return 'what this run alone used is not known.';
  if (usage === null || usage.input === null) return `${engine} did not report what this run used.`;
  if (model === null)
    return `${engine} did not say which model it used, and its configuration names none. Name one: \`model\` of the call or the role, or the configuration of ${engine}.`;
  return `there is no price for the model ${model}. Add one to prices.json in Squad's home.`;
}
