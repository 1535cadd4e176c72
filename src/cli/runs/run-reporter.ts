import type { Event } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { CliContext } from '../context.ts';
import { eventLine } from '../terminal/json.ts';
import { isFailure } from '../terminal/status-text.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { eventToLine, labelWidth } from './run-lines.ts';
import type { RunView, RunViews } from './run-view.ts';
import { openStatusBlock, type StatusBlock, statusLines } from './status-block.ts';

const BELL = '\u0007';
/** Saves the title on the terminal's stack; terminals without one ignore this. */
const SAVE_TITLE = '\u001b[22;0t';
const RESTORE_TITLE = '\u001b[23;0t';
const setTitle = (text: string) => `\u001b]0;${text}\u0007`;

/** Shows in the window title how many agents wait for an answer. Rings the bell for each new question. */
export class Attention {
  readonly #terminal: Terminal;
  #waiting = 0;
  #isTitleOurs = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Sets the number of agents that wait for an answer. */
  show(waiting: number): void {
    if (!this.#terminal.isTTY || waiting === this.#waiting) return;
    const isMore = waiting > this.#waiting;
    this.#waiting = waiting;
    if (waiting === 0) {
      this.close();
      return;
    }
    if (!this.#isTitleOurs) this.#terminal.write(SAVE_TITLE);
    this.#isTitleOurs = true;
    this.#terminal.write(`${setTitle(`(${waiting}) Squad needs you`)}${isMore ? BELL : ''}`);
  }

  /** Restores the previous title. */
  close(): void {
    if (this.#isTitleOurs) this.#terminal.write(RESTORE_TITLE);
    this.#isTitleOurs = false;
  }
}

const ID = /\b(run|squad)_[0-9a-z]{10}\b/g;
const link = (address: string) => `\u001b]8;;${address}\u001b\\`;

/**
 * Turns ids of runs and squads into links to the web UI (OSC 8), which take no columns. `origin` is null without a web
 * UI.
 */
export const withWebLinks = (line: string, origin: string | null): string =>
  origin === null
    ? line
    : line.replace(
        ID,
        (id, kind) => `${link(`${origin}/${kind === 'run' ? 'r' : 's'}/${id}`)}${id}${link('')}`,
      );

/** Which events are printed, and when. */
export interface ReportOptions {
  /** Print only runs with these roles. */
  only?: string[];
  /** True to print only questions for the user, and failures. */
  quiet?: boolean;
  /** Print all lines of a run together when it ends. */
  group?: boolean;
}

/** Prints events of runs line by line, above a status block of the running ones. */
export class RunReporter {
  /** Address of the web UI, once known. */
  origin: string | null = null;
  readonly #views: RunViews;
  readonly #context: CliContext;
  readonly #options: ReportOptions;
  readonly #block: StatusBlock | null;
  readonly #attention: Attention;
  readonly #held = new Map<RunId, string[]>();

  constructor(views: RunViews, context: CliContext, options: ReportOptions = {}) {
    const { out, json, style } = context;
    this.#views = views;
    this.#context = context;
    this.#options = options;
    this.#attention = new Attention(out);
    const render = () => statusLines(this.shown(), Date.now(), out, style);
    this.#block = json || options.quiet ? null : openStatusBlock(out, render);
  }

  /** The runs that match the options. */
  shown(): RunView[] {
    return this.#views.list().filter(run => this.#isWanted(run));
  }

  report(event: Event): void {
    const run = this.#views.apply(event);
    if (run === null || this.#isWanted(run)) {
      const line = this.#isShown(event, run) ? this.#lineOf(event, run) : null;
      if (line !== null) this.#hold(event, line);
    }
    this.changed();
  }

  /** Prints a line that does not belong to an event; prints nothing with `--json`. */
  print(line: string): void {
    if (!this.#context.json) this.#write(line);
  }

  /** Redraws the block and the title. */
  changed(): void {
    if (!this.#context.json) this.#attention.show(this.shown().filter(run => run.asks.length > 0).length);
    this.#block?.changed();
  }

  /** Prints the pending lines of runs that continue, and removes the block. */
  close(): void {
    for (const runId of [...this.#held.keys()]) this.#release(runId);
    this.#block?.close();
    this.#attention.close();
  }

  #isWanted({ roleId }: RunView): boolean {
    const { only = [] } = this.#options;
    return only.length === 0 || only.includes(roleId);
  }

  #isShown({ body }: Event, run: RunView | null): boolean {
    if (!this.#options.quiet) return true;
    if (body.type === 'inbox.asked') return body.item.owner === 'user';
    return body.type === 'run.ended' && run !== null && isFailure(body.status);
  }

  #lineOf(event: Event, run: RunView | null): string | null {
    const { json, style, out } = this.#context;
    if (json) return eventLine(event).trimEnd();
    // Queued runs get no line, because every run is queued first. The status block shows runs that stay queued.
    if (event.body.type === 'run.queued') return null;
    return eventToLine(event, run, labelWidth(this.shown()), style, out.columns);
  }

  #hold({ runId, body }: Event, line: string): void {
    // A question is printed at once, because it cannot wait for the end of its run.
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
    const whole = out.isTTY ? withWebLinks(line, this.origin) : line;
    if (this.#block) this.#block.append(whole);
    else out.write(`${whole}\n`);
  }
}
