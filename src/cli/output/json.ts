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

/** JSON leaves DEL and the C1 controls as they are, and some terminals obey them. Escaped, the value is the same. */
const harmless = (json: string) =>
  json.replace(/[\u007f-\u009f]/g, control => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
