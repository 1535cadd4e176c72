import type { Show } from './show.ts';

const PLAIN = ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'trace'];
/** A message may not be longer than the host takes. */
const LONGEST_PIECE = 256 * 1024;

/** The console of a program: a line each, in the order they come. */
export function createConsole(print: (line: string) => void, show: Show): Record<string, unknown> {
  let indent = '';

  function line(values: unknown[]): void {
    const text = `${indent}${values.map(show.value).join(' ')}\n`;
    for (let at = 0; at < text.length; at += LONGEST_PIECE) print(text.slice(at, at + LONGEST_PIECE));
  }

  const counts = new Map<string, number>();
  const begun = new Map<string, number>();
  const elapsed = (label: string) => `${label}: ${Date.now() - (begun.get(label) ?? Date.now())} ms`;
  return {
    ...Object.fromEntries(PLAIN.map(name => [name, (...values: unknown[]) => line(values)])),
    assert: (isSo: unknown, ...values: unknown[]) => isSo || line(['Assertion failed', ...values]),
    group(...values: unknown[]) {
      line(values);
      indent += '  ';
    },
    groupEnd() {
      indent = indent.slice(2);
    },
    count(label = 'default') {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      line([`${label}: ${counts.get(label)}`]);
    },
    time: (label = 'default') => void begun.set(label, Date.now()),
    timeLog: (label = 'default') => line([elapsed(label)]),
    timeEnd: (label = 'default') => line([elapsed(label)]),
  };
}
