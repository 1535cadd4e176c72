import type { EngineEvent } from '../ports/engine.ts';

/** Counts what an engine reports about its tools. */
export class ToolTally {
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

  /** Calls that were to change a file and are not known to have failed. */
  get edits(): number {
    return Math.max(0, this.editsBegun - this.editsFailed);
  }
}
