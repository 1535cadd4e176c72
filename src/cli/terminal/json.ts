import type { Event } from '../../schema/event.ts';
import type { Terminal } from './terminal.ts';

/**
 * Version of the JSON output. Increased when a field changes its meaning or is removed, not when a field or type is
 * added.
 */
const VERSION = 1;

export function eventLine({ seq, at, runId, squadId, body }: Event): string {
  const { type, ...facts } = body;
  return plainLine({ type, seq, at, runId, squadId, ...facts });
}

/** A line of JSON for something that is not an event of the hub. */
export const plainLine = (facts: { type: string } & Record<string, unknown>): string =>
  `${escapeHidden(JSON.stringify({ v: VERSION, ...facts }))}\n`;

export const jsonLine = (value: unknown): string => `${escapeHidden(JSON.stringify(value))}\n`;

/** Prints the result of a command. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.write(`${escapeHidden(JSON.stringify(value, null, 2))}\n`);
}

/** JSON.stringify leaves DEL, C1 controls and invisible characters. Escaping makes them visible and keeps the value. */
const escapeHidden = (json: string) =>
  json.replace(/[\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu, hidden =>
    hidden.replace(/[\s\S]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
