import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { CliContext } from '../context.ts';
import { eventLine } from '../terminal/json.ts';
import { isFailure } from '../terminal/status-word.ts';
import { Attention } from './attention.ts';
import { withPageLinks } from './page-links.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import { statusLines } from './run-status.ts';
import type { RunView, RunViews } from './run-view.ts';
import { openStatusBlock, type StatusBlock } from './status-block.ts';

/** What of all that happens is told, and when. */
export interface TellOptions {
  /** Only of runs with these roles. */
  only?: string[];
  /** Only who needs the user, and failures. */
  quiet?: boolean;
  /** What is told of a run stays together: all of it at its end. */
  group?: boolean;
}

/** Tells what happens to runs, line by line, above a block of those at work. */
export class RunTeller {
  /** Where the page is, once it is known. */
  origin: string | null = null;
  readonly #views: RunViews;
  readonly #context: CliContext;
  readonly #options: TellOptions;
  readonly #block: StatusBlock | null;
  readonly #attention: Attention;
  readonly #held = new Map<RunId, string[]>();

  constructor(views: RunViews, context: CliContext, options: TellOptions = {}) {
    const { out, json, style } = context;
    this.#views = views;
    this.#context = context;
    this.#options = options;
    this.#attention = new Attention(out);
    const render = () => statusLines(this.shown(), Date.now(), out, style);
    this.#block = json || options.quiet ? null : openStatusBlock(out, render);
  }

  /** The runs that are told of. */
  shown(): RunView[] {
    return this.#views.list().filter(run => this.#isWanted(run));
  }

  tell(event: Event): void {
    const run = this.#views.apply(event);
    if (run === null || this.#isWanted(run)) {
      const line = this.#isWorthIt(event, run) ? this.#lineOf(event, run) : null;
      if (line !== null) this.#hold(event, line);
    }
    this.changed();
  }

  /** A line that is none of an event's; with `--json` nothing. */
  say(line: string): void {
    if (!this.#context.json) this.#write(line);
  }

  /** What the block shows, or who waits, may be different. */
  changed(): void {
    if (!this.#context.json) this.#attention.show(this.shown().filter(run => run.asks.length > 0).length);
    this.#block?.changed();
  }

  /** What was held back of runs that go on is told now. */
  close(): void {
    for (const runId of [...this.#held.keys()]) this.#release(runId);
    this.#block?.close();
    this.#attention.close();
  }

  #isWanted({ roleId }: RunView): boolean {
    const { only = [] } = this.#options;
    return only.length === 0 || only.includes(roleId);
  }

  #isWorthIt({ body }: Event, run: RunView | null): boolean {
    if (!this.#options.quiet) return true;
    if (body.type === 'inbox.asked') return body.item.owner === 'user';
    return body.type === 'run.ended' && run !== null && isFailure(body.status);
  }

  #lineOf(event: Event, run: RunView | null): string | null {
    const { json, style, out } = this.#context;
    if (json) return eventLine(event).trimEnd();
    // Everyone is queued first; the line is worth reading only for those who stay there, and the block shows them.
    if (event.body.type === 'run.queued') return null;
    return eventToLine(event, run, labelWidth(this.shown()), style, out.columns);
  }

  #hold({ runId, body }: Event, line: string): void {
    // Whoever needs the user cannot wait for its own end.
    const isHeld = this.#options.group && body.type !== 'inbox.asked';
    if (!isHeld || runId === null) this.#write(line);
    else this.#held.set(runId, [...(this.#held.get(runId) ?? []), line]);
    if (runId !== null && body.type === 'run.ended') this.#release(runId);
  }

  #release(runId: RunId): void {
    for (const line of this.#held.get(runId) ?? []) this.#write(line);
    this.#held.delete(runId);
  }

  #write(line: string): void {
    const { out } = this.#context;
    const whole = out.isTTY ? withPageLinks(line, this.origin) : line;
    if (this.#block) this.#block.append(whole);
    else out.write(`${whole}\n`);
  }
}
