import type { RunId } from '../schema/ids.ts';
import { isEnd, type Run } from '../schema/run.ts';
import type { RunGate } from './access/run-gate.ts';

/** Runs that are over and may still be asked about; more are forgotten. */
const MOST_ENDED = 10_000;

/** The runs that are at work, each with what belongs to it here. */
export class RunGates {
  readonly #create: (run: Run) => RunGate;
  readonly #gates = new Map<RunId, { run: Run; gate: RunGate }>();
  readonly #ended = new Set<RunId>();

  constructor(create: (run: Run) => RunGate) {
    this.#create = create;
  }

  of(runId: RunId): RunGate | null {
    return this.#gates.get(runId)?.gate ?? null;
  }

  /** Null: the run is over. */
  enter(run: Run): { gate: RunGate; isNew: boolean } | null {
    const known = this.of(run.id);
    if (known !== null) return { gate: known, isNew: false };
    if (this.#ended.has(run.id) || isEnd(run.status)) return null;
    const gate = this.#create(run);
    this.#gates.set(run.id, { run, gate });
    return { gate, isNew: true };
  }

  /** A run that goes on after its end may come again. */
  begin(runId: RunId): void {
    this.#ended.delete(runId);
  }

  end(runId: RunId): void {
    const gate = this.of(runId);
    // Forgotten first: nobody is told that a run that is over has lost its servers.
    this.#gates.delete(runId);
    gate?.release();
    this.#ended.add(runId);
    if (this.#ended.size > MOST_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }

  in(workspace: string): { run: Run; gate: RunGate }[] {
    return [...this.#gates.values()].filter(({ run }) => run.workspace === workspace);
  }

  workspaces(): string[] {
    return [...this.#gates.values()].map(({ run }) => run.workspace);
  }

  clear(): void {
    this.#gates.clear();
  }
}
