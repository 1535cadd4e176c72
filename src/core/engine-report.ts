import type { Usage } from '../schema/run.ts';
import type { EngineEnd, EngineEvent, EngineReader, UsageFigure } from './ports.ts';
import { sinceLastTurn, totalsAfter } from './usage.ts';

/** Everything an engine has said about one turn, gathered. Empty for an engine that says nothing. */
export class EngineReport {
  end: EngineEnd | null = null;
  /** Null: this engine reports no tool calls. */
  toolCalls: number | null;
  toolFailures = 0;
  denials = 0;
  /** Tool calls meant to change a file. */
  edits = 0;
  private usage: Usage | null = null;
  private runningTotals: readonly UsageFigure[] = [];
  private readonly reader: EngineReader | null;

  constructor(reader: EngineReader | null) {
    this.reader = reader;
    this.toolCalls = reader ? 0 : null;
  }

  take(line: string): EngineEvent[] {
    const events = this.reader?.line(line) ?? [];
    for (const event of events) this.note(event);
    return events;
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

  usageOfTurn(chatTotals: Usage | null): Usage | null {
    return this.usage && sinceLastTurn(this.usage, this.runningTotals, chatTotals);
  }

  totalsOfChat(before: Usage | null): Usage | null {
    return this.usage ? totalsAfter(this.usage, this.runningTotals, before) : before;
  }

  private note(event: EngineEvent): void {
    if (event.type === 'end') this.end = event;
    else if (event.type === 'usage') {
      this.usage = event.usage;
      this.runningTotals = event.runningTotals ?? [];
    } else if (event.type === 'tool') {
      this.toolCalls = (this.toolCalls ?? 0) + 1;
      if (event.edits) this.edits++;
    } else if (event.type === 'tool_end' && !event.ok) {
      this.toolFailures++;
      if (event.denied) this.denials++;
    }
  }
}
