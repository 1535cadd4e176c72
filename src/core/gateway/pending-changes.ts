import { diffArrays } from 'diff';
import type { Definition, PendingChange, Pin } from '../ports/gateway.ts';

/** Lines around a change that are shown with it. */
const CONTEXT = 3;
/** Two definitions that have less than this in common are shown one after the other: to compare them would take for ever. */
const MOST_EDITS = 2_000;

/** What waits for approval, each with what is otherwise than it was. */
export function pendingChanges(server: string, pins: readonly Pin[]): PendingChange[] {
  const approved = new Map(
    pins.flatMap(pin => (pin.state === 'approved' ? [[pin.name, pin.definition]] : [])),
  );
  return pins
    .filter(({ state }) => state === 'pending')
    .map(({ name, hash, definition, seenAt }) => {
      const before = approved.get(name);
      const kind = before ? ('changed' as const) : ('new' as const);
      return { server, tool: name, kind, hash, seenAt, diff: lineDiff(before, definition) };
    });
}

function lineDiff(before: Definition | undefined, after: Definition): string[] {
  const [old, now] = [before ? linesOf(before) : [], linesOf(after)];
  const changes = diffArrays(old, now, { maxEditLength: MOST_EDITS }) ?? [
    { removed: true, value: old },
    { added: true, value: now },
  ];
  return changes.flatMap((change, index) => {
    const sign = 'added' in change && change.added ? '+' : change.removed ? '-' : ' ';
    const lines = change.value.map(line => `${sign}${line}`);
    return sign === ' ' ? shortened(lines, index > 0, index < changes.length - 1) : lines;
  });
}

/** Of lines that stayed as they were, those next to a change. */
function shortened(lines: string[], isAfterChange: boolean, isBeforeChange: boolean): string[] {
  const head = isAfterChange ? CONTEXT : 0;
  const tail = isBeforeChange ? CONTEXT : 0;
  if (lines.length <= head + tail + 1) return lines;
  return [...lines.slice(0, head), ' …', ...lines.slice(lines.length - tail)];
}

/** The words first, line by line as an agent reads them, then the rest, its keys in one order. */
function linesOf({ name, title, description, ...rest }: Definition): string[] {
  return [
    `name: ${name}`,
    ...(typeof title === 'string' ? [`title: ${title}`] : []),
    ...(typeof description === 'string'
      ? ['description:', ...description.split('\n').map(line => `  ${line}`)]
      : []),
    ...Object.entries(sorted(rest) as object).flatMap(([key, value]) =>
      `${key}: ${JSON.stringify(value, null, 2)}`.split('\n'),
    ),
  ];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  );
}
