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
/** Terminals keep the title on a stack of their own; those that have none ignore it. */
const KEEP_TITLE = '\u001b[22;0t';
const TITLE_BACK = '\u001b[23;0t';
const title = (words: string) => `\u001b]0;${words}\u0007`;

/** Calls the user back to a screen that is not looked at: by its title while somebody waits, and by the bell when it begins. */
export class Attention {
  readonly #terminal: Terminal;
  #waiting = 0;
  #isTitleOurs = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** So many wait now. */
  show(waiting: number): void {
    if (!this.#terminal.isTTY || waiting === this.#waiting) return;
    const isMore = waiting > this.#waiting;
    this.#waiting = waiting;
    if (waiting === 0) this.close();
    else this.#call(waiting, isMore);
  }

  /** Puts the title back that was there. */
  close(): void {
    if (this.#isTitleOurs) this.#terminal.write(TITLE_BACK);
    this.#isTitleOurs = false;
  }

  #call(waiting: number, isMore: boolean): void {
    if (!this.#isTitleOurs) this.#terminal.write(KEEP_TITLE);
    this.#isTitleOurs = true;
    this.#terminal.write(`${title(`(${waiting}) Squad needs you`)}${isMore ? BELL : ''}`);
  }
}

const ID = /\b(run|squad)_[0-9a-z]{10}\b/g;
const open = (address: string) => `\u001b]8;;${address}\u001b\\`;

/** Ids of runs and squads as links to their pages (OSC 8). It takes no room on the screen; null: there is no page to link to. */
export const withPageLinks = (line: string, origin: string | null): string =>
  origin === null
    ? line
    : line.replace(
        ID,
        (id, kind) => `${open(`${origin}/${kind === 'run' ? 'r' : 's'}/${id}`)}${id}${open('')}`,
      );

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
export class RunReporter {
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
