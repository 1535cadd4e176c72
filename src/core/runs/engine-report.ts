import type { Usage } from '../../schema/run.ts';
import { isEmpty, sinceLastTurn, totalsAfter, withoutBeginning } from '../cost/usage.ts';
import type { ApiRetry, EngineEnd, EngineEvent, EngineReader, UsageFigure } from '../ports/engine.ts';
import { ToolTally } from './tool-tally.ts';

/** Enough of it to see how far it came. */
const LONGEST_SAID = 64 * 1024;

/** Events that come only after the model has answered. */
const ANSWERED: ReadonlySet<EngineEvent['type']> = new Set([
  'text',
  'tool',
  'more_tools',
  'message',
  'usage',
]);

/** Everything an engine has said about one turn, gathered. Empty for an engine that says nothing. */
export class EngineReport {
  end: EngineEnd | null = null;
  /** The engine has reported its end and has not continued since, as it does when a sub-agent outlasts the answer. */
  hasEnded = false;
  /** The API's last failure, while the engine has shown no sign of a later answer. */
  retry: (ApiRetry & { text: string }) | null = null;
  /** Notes for the result, beside the answer. */
  readonly notes = new Set<string>();
  /** Null: this engine reports no tool calls. */
  readonly tools: ToolTally | null;
  private usage: Usage | null = null;
  /** What was said, for a turn that ends without an answer. */
  private said = '';
  private runningTotals: readonly UsageFigure[] = [];
  private readonly reader: EngineReader | null;

  constructor(reader: EngineReader | null) {
    this.reader = reader;
    this.tools = reader && new ToolTally();
  }

  take(line: string): EngineEvent[] {
    const events = this.reader?.line(line) ?? [];
    for (const event of events) this.note(event);
    return events;
  }

  /** A line was too long to be read. */
  skip(beginning: string): void {
    for (const event of this.reader?.tooLong?.(beginning) ?? []) this.note(event);
  }

  /** The process has ended and its output has been read. */
  async finish(
    exitCode: number | null,
    file: (name: string) => Promise<string | null>,
  ): Promise<EngineEvent[]> {
    const events = (await this.reader?.finish?.({ exitCode, file })) ?? [];
    for (const event of events) this.note(event);
    return events;
  }

  /** The final answer, or what was said until the turn was cut short. */
  get answer(): string {
    return this.end && (this.end.ok || this.end.answer) ? this.end.answer : this.said;
  }

  usageOfTurn(chatTotals: Usage | null): Usage | null {
    const usage = this.usage && sinceLastTurn(this.usage, this.runningTotals, chatTotals);
    return usage && isEmpty(usage) ? null : usage;
  }

  /** Why figures are missing that the engine did report. */
  usageNotes(chatTotals: Usage | null): string[] {
    const unknown = this.usage ? withoutBeginning(this.usage, this.runningTotals, chatTotals) : [];
    if (unknown.length === 0) return [];
    return [
      `Not known for this run alone: ${unknown.join(', ')}. Its engine counts from the beginning of the chat, and what the chat had used before is not known here: it was used outside Squad since the last turn, or Squad has not seen it before.`,
    ];
  }

  /** Null when this turn said nothing about it. */
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
    } else if (event.type === 'text')
      this.said = `${this.said && `${this.said}\n`}${event.text}`.slice(-LONGEST_SAID);
    else if (event.type === 'usage') {
      this.usage = event.usage;
      this.runningTotals = event.runningTotals ?? [];
    }
  }
}
