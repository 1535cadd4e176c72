import { visibleLine } from '../../schema/visible-text.ts';

const ESC = '\u001b';
const ST = `(?:${ESC}\\\\|\u009c|\u0007)`;

/**
 * Escape sequences whole, so that no `[31m` is left: CSI; strings (OSC, DCS, APC, PM, SOS) up to their end or the line's;
 * any other escape. Each in its seven-bit form and in the one-character form some terminals obey too.
 */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${ESC}[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^${ESC}\u009c\u0007\\n]*${ST}?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'g',
);
/** Controls except tab and newline, and the marks that turn the reading direction of what follows. */
const CONTROLS = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

/** An agent's words, safe to print: they can say anything and do nothing to the user's terminal. */
export function sanitize(text: string): string {
  return text.toWellFormed().replace(SEQUENCES, '').replace(CONTROLS, '');
}

/** The same on one line, for a column or a status line: what takes no room there, or turns its direction, is seen. */
export function oneLine(text: string): string {
  return visibleLine(sanitize(text.replace(/\r/g, '\n')));
}
