import { visibleLine } from '../../base/text.ts';
import type { Event, EventBody } from '../../schema/event.ts';
import type { Evidence } from '../../schema/evidence.ts';
import type { RunId } from '../../schema/ids.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run, RunError, RunStatus, ShownRun, Usage } from '../../schema/run.ts';
import { type NamedRun, runName } from '../../schema/run-text.ts';
import type { SandboxLevel } from '../../schema/sandbox.ts';

export type QuietState = NonNullable<Extract<EventBody, { type: 'run.quiet' }>['state']>;

/** State of a run, built from events. */
export interface RunView {
  id: RunId;
  /** Name of the run, numbered if it is not the first of that name. */
  label: string;
  roleId: string;
  engine: string;
  status: RunStatus;
  startedAt: number | null;
  endedAt: number | null;
  /** Last action of the agent. */
  activity: string;
  exitCode: number | null;
  error: RunError | null;
  usage: Usage | null;
  durationMs: number | null;
  /** Kind of inactivity, while the agent shows no activity. Null otherwise. */
  quiet: { state: QuietState; text: string } | null;
  /** Open questions for the user, oldest first. */
  asks: readonly InboxItem[];
  evidence: Evidence | null;
  /** Remarks about the run, for example a server that was unavailable. */
  notes: readonly string[];
  /** Branch with its changes, and the branch they are to be merged into. Null without a work tree. */
  branch: { name: string; base: string | null } | null;
  /** Null until the details of the run are known. */
  sandbox: SandboxLevel | null;
}

/** A run as operations return it: a row, or a card of a list. */
export type ListedRun = NamedRun &
  Pick<Run, 'id' | 'status' | 'startedAt' | 'endedAt' | 'error' | 'usage'> &
  Partial<Pick<Run, 'evidence'>> & { activity?: { text: string } | null; quiet?: RunView['quiet'] };

/** The runs on screen, in the order of the request: first the existing ones, then those that events announce. */
export class RunViews {
  readonly #runs = new Map<RunId, RunView>();

  constructor(runs: readonly ListedRun[] = []) {
    for (const run of runs) this.#add(run.id, runName(run), run.engine, pickState(run));
  }

  list(): RunView[] {
    return [...this.#runs.values()];
  }

  /** Updates the run of the event and returns it. Null if the event belongs to no known run. */
  apply({ runId, at, body }: Event): RunView | null {
    if (runId === null) return null;
    if (body.type === 'run.queued' && !this.#runs.has(runId))
      this.#add(runId, runName({ ...body, subagent: body.subagent ?? null }), body.engine);
    const run = this.#runs.get(runId);
    if (!run) return null;
    if (body.type === 'run.queued') Object.assign(run, { status: 'queued', engine: body.engine });
    if (body.type === 'run.turn_ended') run.status = body.status ?? 'waiting_review';
    if (body.type === 'run.started') {
      run.status = 'running';
      run.startedAt ??= at;
    }
    if (body.type === 'run.activity') {
      run.activity = visibleLine(body.text) || run.activity;
      run.quiet = null;
    }
    if (body.type === 'run.quiet')
      run.quiet = body.state === null ? null : { state: body.state, text: visibleLine(body.text) };
    if (body.type === 'run.stopping') run.activity = 'stopping';
    if (body.type === 'run.stopping' || body.type === 'run.ended') run.quiet = null;
    if (body.type === 'run.ended') {
      const { status, exitCode, error, usage, durationMs } = body;
      Object.assign(run, { status, exitCode, error, usage, durationMs, endedAt: at, asks: [] });
    }
    if (body.type === 'inbox.asked') this.ask(body.item);
    if (body.type === 'inbox.settled') run.asks = run.asks.filter(({ id }) => id !== body.item.id);
    return run;
  }

  /** Adds a question, unless another run has to answer it. */
  ask(item: InboxItem): void {
    const run = this.#runs.get(item.runId);
    if (run && item.owner === 'user' && run.asks.every(({ id }) => id !== item.id))
      run.asks = [...run.asks, item];
  }

  /** Adds details of the run that no event contains. */
  addFacts({
    id,
    evidence,
    notes,
    worktree,
    options,
  }: Pick<ShownRun, 'id' | 'evidence' | 'notes' | 'worktree' | 'options'>): void {
    const run = this.#runs.get(id);
    if (!run) return;
    const branch = worktree ? { name: visibleLine(worktree.branch), base: worktree.baseBranch } : null;
    Object.assign(run, { evidence, notes, branch, sandbox: options.sandbox.level });
  }

  #add(id: RunId, roleId: string, engine: string, state: Partial<RunView> = {}): void {
    const role = visibleLine(roleId);
    const count = this.list().filter(run => run.roleId === role).length + 1;
    this.#runs.set(id, {
      id,
      label: count === 1 ? role : `${role} ${count}`,
      roleId: role,
      engine: visibleLine(engine),
      status: 'queued',
      startedAt: null,
      endedAt: null,
      activity: '',
      exitCode: null,
      error: null,
      usage: null,
      durationMs: null,
      quiet: null,
      asks: [],
      evidence: null,
      notes: [],
      branch: null,
      sandbox: null,
      ...state,
    });
  }
}

const pickState = (run: ListedRun): Partial<RunView> => {
  const { status, startedAt, endedAt, error, usage, evidence = null, activity, quiet } = run;
  return {
    ...{ status, evidence, startedAt, endedAt, error, usage },
    durationMs: startedAt !== null && endedAt !== null ? endedAt - startedAt : null,
    activity: visibleLine(activity?.text ?? ''),
    quiet: quiet ? { state: quiet.state, text: visibleLine(quiet.text) } : null,
  };
};
