import { moreCalls } from '../../schema/conversation-view.ts';
import type { EventBody } from '../../schema/event.ts';
import type { Usage } from '../../schema/run.ts';
import { dropUnseenTotals, isEmpty, sinceLastTurn, totalsAfter } from '../cost/usage.ts';
import type { ApiRetry, EngineEnd, EngineEvent, EngineReader, UsageFigure } from '../ports/engine.ts';
import { truncate } from '../text.ts';

export class ToolCounts {
  calls = 0;
  failures = 0;
  denials = 0;
  private editsBegun = 0;
  private editsFailed = 0;
  private readonly editors = new Set<string>();

  take(event: EngineEvent): void {
    if (event.type === 'tool') {
      this.calls++;
      if (!event.edits) return;
      this.editsBegun++;
      this.editors.add(event.name);
    } else if (event.type === 'tool_end') {
      if (event.denied) this.denials++;
      if (event.ok) return;
      this.failures++;
      if (this.editors.has(event.name)) this.editsFailed++;
    } else if (event.type === 'more_tools') {
      this.calls += event.calls;
      this.failures += event.failed;
    }
  }

  /** Number of calls that were meant to change a file and are not known to have failed. */
  get edits(): number {
    return Math.max(0, this.editsBegun - this.editsFailed);
  }
}

/** Maximum length of the kept text. It shows how far the agent got before it was interrupted. */
const MAX_TEXT_LENGTH = 64 * 1024;

/**
 * Keeps the end of a text that grows line by line. Lines are joined only when the text is read, because an agent may
 * write a million lines.
 */
class TextEnd {
  private lines: string[] = [];
  private first = 0;
  private length = 0;

  add(line: string): void {
    this.lines.push(line);
    this.length += line.length + 1;
    // Drops lines from the beginning while the remaining lines have the maximum length.
    for (let line = this.lines[this.first]!; this.length - line.length > MAX_TEXT_LENGTH + 1; ) {
      this.length -= line.length + 1;
      line = this.lines[++this.first]!;
    }
    if (this.first < 1_000) return;
    this.lines.splice(0, this.first);
    this.first = 0;
  }

  get text(): string {
    return this.lines.slice(this.first).join('\n').slice(-MAX_TEXT_LENGTH);
  }
}

/** Events that come only after the model has answered. */
const ANSWERED: ReadonlySet<EngineEvent['type']> = new Set([
  'text',
  'tool',
  'more_tools',
  'message',
  'usage',
]);

/** Everything that an engine has reported about one turn. Empty for an engine without events. */
export class EngineReport {
  end: EngineEnd | null = null;
  /**
   * True if the engine has reported its end. False again if it continues, for example because a sub-agent runs longer
   * than the answer.
   */
  hasEnded = false;
  /** The last failure of the API. Null again once the model has answered. */
  retry: (ApiRetry & { text: string }) | null = null;
  /** Notes for the result. */
  readonly notes = new Set<string>();
  /** Null if the engine reports no tool calls. */
  readonly tools: ToolCounts | null;
  private usage: Usage | null = null;
  /** The end of the agent's text so far, used if the turn ends without an answer. */
  private readonly said = new TextEnd();
  private runningTotals: readonly UsageFigure[] = [];
  private readonly reader: EngineReader | null;

  constructor(reader: EngineReader | null) {
    this.reader = reader;
    this.tools = reader && new ToolCounts();
  }

  take(line: string): EngineEvent[] {
    const events = this.reader?.line(line) ?? [];
    for (const event of events) this.note(event);
    return events;
  }

  /** Call this for a line that was too long to read. */
  skip(beginning: string): void {
    for (const event of this.reader?.tooLong?.(beginning) ?? []) this.note(event);
  }

  /** Call this when the process has ended and its output has been read. */
  async finish(
    exitCode: number | null,
    file: (name: string) => Promise<string | null>,
  ): Promise<EngineEvent[]> {
    const events = (await this.reader?.finish?.({ exitCode, file })) ?? [];
    for (const event of events) this.note(event);
    return events;
  }

  /** The final answer, or the text so far if the turn was interrupted. */
  get answer(): string {
    return this.end && (this.end.ok || this.end.answer) ? this.end.answer : this.said.text;
  }

  usageOfTurn(chatTotals: Usage | null): Usage | null {
    const usage = this.usage && sinceLastTurn(this.usage, this.runningTotals, chatTotals);
    return usage && isEmpty(usage) ? null : usage;
  }

  /** Explains figures that the engine reported but that are unknown for this run alone. */
  usageNotes(chatTotals: Usage | null): string[] {
    const unknown = this.usage ? dropUnseenTotals(this.usage, this.runningTotals, chatTotals) : [];
    if (unknown.length === 0) return [];
    return [
      `Unknown for this run alone: ${unknown.join(', ')}. Its engine counts from the beginning of the chat, and the earlier usage of the chat is unknown: the chat was used outside Squad since the last turn, or Squad has not seen it before.`,
    ];
  }

  /** Null if this turn reported no usage. */
  totalsOfChat(chatTotals: Usage | null): Usage | null {
    return this.usage && totalsAfter(this.usage, this.runningTotals, chatTotals);
  }

  private note(event: EngineEvent): void {
    this.tools?.take(event);
    if (event.type === 'end' || event.type === 'text' || event.type === 'tool')
      this.hasEnded = event.type === 'end';
    if (ANSWERED.has(event.type)) this.retry = null;
    if (event.type === 'end') this.end = event;
    else if (event.type === 'note') {
      if (event.retry) this.retry = { ...event.retry, text: event.text };
      if (event.isForResult) this.notes.add(event.text);
    } else if (event.type === 'text') this.said.add(event.text);
    else if (event.type === 'usage') {
      this.usage = event.usage;
      this.runningTotals = event.runningTotals ?? [];
    }
  }
}

type Activity = Extract<EventBody, { type: 'run.activity' }>;

const MAX_ACTIVITY_LENGTH = 300;
/** Number of events allowed in a burst, and afterwards per second. */
const AT_ONCE = 50;
const A_SECOND = 5;
/** Part of the burst that is reserved for tool calls, so that text events cannot use all of it. */
const FOR_TOOLS = 10;

/** Limits an agent's events to a rate that the database and a reader can follow. Skipped events are counted. */
export class ActivityPace {
  private room = AT_ONCE;
  private at: number | null = null;
  private skipped = 0;

  take(event: EngineEvent, now: number): Activity | null {
    if (!isActivity(event)) return null;
    const sinceLast = this.at === null ? 0 : Math.max(0, now - this.at);
    this.room = Math.min(AT_ONCE, this.room + (sinceLast * A_SECOND) / 1_000);
    this.at = now;
    const isTool = event.type === 'tool' || event.type === 'more_tools';
    if (this.room < (isTool ? 1 : FOR_TOOLS + 1)) {
      this.skipped++;
      return null;
    }
    this.room--;
    return this.withSkipped(describe(event));
  }

  /** The number of events that were skipped since the last reported event, if any. */
  rest(): Activity | null {
    if (this.skipped === 0) return null;
    return this.withSkipped({ type: 'run.activity', kind: 'note', text: 'Its output has all of it.' });
  }

  private withSkipped(activity: Activity): Activity {
    const { skipped } = this;
    this.skipped = 0;
    return skipped > 0 ? { ...activity, skipped } : activity;
  }
}

type ActivityEvent = Extract<EngineEvent, { type: 'text' | 'tool' | 'more_tools' | 'note' }>;

const isActivity = (event: EngineEvent): event is ActivityEvent =>
  event.type === 'text' || event.type === 'tool' || event.type === 'more_tools' || event.type === 'note';

function describe(event: ActivityEvent): Activity {
  if (event.type === 'text') return { type: 'run.activity', kind: 'text', text: cut(event.text) };
  if (event.type === 'tool')
    return { type: 'run.activity', kind: 'tool', text: cut(`${event.name} ${event.detail}`.trim()) };
  if (event.type === 'more_tools') return { type: 'run.activity', kind: 'tool', text: moreCalls(event) };
  return { type: 'run.activity', kind: 'note', text: cut(event.text) };
}

const cut = (text: string) => truncate(text, MAX_ACTIVITY_LENGTH);
