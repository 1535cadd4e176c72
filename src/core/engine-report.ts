import type { Usage } from '../schema/run.ts';
import type { EngineEnd, EngineEvent, EngineReader, UsageFigure } from './ports.ts';
import { ToolTally } from './tool-tally.ts';
import { sinceLastTurn, totalsAfter } from './usage.ts';

/** Everything an engine has said about one turn, gathered. Empty for an engine that says nothing. */
export class EngineReport {
  end: EngineEnd | null = null;
  /** Null: this engine reports no tool calls. */
  readonly tools: ToolTally | null;
  private usage: Usage | null = null;
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
    this.tools?.take(event);
    if (event.type === 'end') this.end = event;
    else if (event.type === 'usage') {
      this.usage = event.usage;
      this.runningTotals = event.runningTotals ?? [];
    }
  }
}
