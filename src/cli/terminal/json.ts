import type { Event } from '../../schema/event.ts';
import type { Terminal } from './terminal.ts';

/** Raised when a field changes meaning or goes away; a new field or type is not such a change. */
const VERSION = 1;

/** One event, one line: what `--json` prints while something is going on. */
export function eventLine({ seq, at, runId, squadId, body }: Event): string {
  const { type, ...facts } = body;
  return plainLine({ type, seq, at, runId, squadId, ...facts });
}

/** The same for what is no event of the hub's. */
export const plainLine = (facts: { type: string } & Record<string, unknown>): string =>
  `${harmless(JSON.stringify({ v: VERSION, ...facts }))}\n`;

/** A value on a line of its own. */
export const jsonLine = (value: unknown): string => `${harmless(JSON.stringify(value))}\n`;

/** The answer of a one-shot command. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.write(`${harmless(JSON.stringify(value, null, 2))}\n`);
}

/** JSON leaves DEL, C1 controls and invisible characters as they are. Escaped, the value is the same and everybody sees it. */
const harmless = (json: string) =>
  json.replace(/[\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu, hidden =>
    hidden.replace(/[\s\S]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
