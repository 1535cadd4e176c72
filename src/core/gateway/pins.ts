import { diffArrays } from 'diff';
import type { Definition, PendingChange, Pin } from '../ports/gateway.ts';
import { hashOf } from './definitions.ts';

/**
 * What to keep after a listing. At first sight everything is approved. Later, what is new or not what was approved waits; the
 * approved definition is kept meanwhile, for the diff and in case the server goes back to it. What is no longer listed keeps
 * its approval and nothing else.
 */
export function comparePins(known: readonly Pin[] | null, listed: readonly Definition[], now: number): Pin[] {
  const approved = new Map(known?.filter(({ state }) => state === 'approved').map(pin => [pin.name, pin]));
  const waiting = new Map(known?.filter(({ state }) => state === 'pending').map(pin => [pin.name, pin]));
  const pins = new Map(known === null ? [] : approved);
  const pending: Pin[] = [];
  for (const { name, hash, definition, isDoubtful } of distinct(listed)) {
    if (approved.get(name)?.hash === hash && !isDoubtful) continue;
    const before = waiting.get(name);
    const seenAt = before?.hash === hash ? before.seenAt : now;
    if (known === null && !isDoubtful) pins.set(name, { name, hash, definition, state: 'approved', seenAt });
    else pending.push({ name, hash, definition, state: 'pending', seenAt });
  }
  return [...pins.values(), ...pending, ...(known ?? []).filter(({ state }) => state === 'confirmed')];
}

/** With these entries of lists confirmed, which mean no tool. */
export function confirmEntries(pins: readonly Pin[], entries: readonly string[], now: number): Pin[] {
  const confirmed = new Set(pins.filter(({ state }) => state === 'confirmed').map(({ name }) => name));
  return [
    ...pins,
    ...entries
      .filter(name => !confirmed.has(name))
      .map(name => ({ name, hash: '', definition: { name }, state: 'confirmed' as const, seenAt: now })),
  ];
}

/** The names that may be used: approved, and nothing of that name waits. With what is listed now, only what still is as approved. */
export function usable(pins: readonly Pin[], listed?: readonly Definition[]): Set<string> {
  const waiting = new Set(pins.filter(({ state }) => state === 'pending').map(({ name }) => name));
  return usableOf(
    pins.filter(({ name }) => !waiting.has(name)),
    listed,
  );
}

/** The names one user's own instance has as they were approved. What waits came from somebody else's, and is nothing to it. */
export const usableAlone = (pins: readonly Pin[], listed: readonly Definition[]): Set<string> =>
  usableOf(pins, listed);

function usableOf(pins: readonly Pin[], listed: readonly Definition[] | undefined): Set<string> {
  const approved = new Map(pins.flatMap(pin => (pin.state === 'approved' ? [[pin.name, pin.hash]] : [])));
  if (!listed) return new Set(approved.keys());
  return new Set(
    distinct(listed)
      .filter(({ name, hash, isDoubtful }) => !isDoubtful && approved.get(name) === hash)
      .map(({ name }) => name),
  );
}

/** Approves what waits under these names. */
export function approvePins(pins: readonly Pin[], names: readonly string[]): Pin[] {
  const isMeant = ({ name, state }: Pin) => state === 'pending' && names.includes(name);
  const meant = new Set(pins.filter(isMeant).map(({ name }) => name));
  return pins.flatMap(pin => {
    if (!meant.has(pin.name)) return [pin];
    return pin.state === 'pending' ? [{ ...pin, state: 'approved' as const }] : [];
  });
}

/** By name. A name that comes twice with two meanings is not to be relied on: nobody knows which one a call would reach. */
function distinct(listed: readonly Definition[]) {
  const byName = new Map<
    string,
    { name: string; hash: string; definition: Definition; isDoubtful: boolean }
  >();
  for (const definition of listed) {
    const { name } = definition;
    const hash = hashOf(definition);
    const before = byName.get(name);
    if (!before) byName.set(name, { name, hash, definition, isDoubtful: false });
    else if (before.hash !== hash) before.isDoubtful = true;
  }
  return [...byName.values()];
}

/** Lines around a change that are shown with it. */
const CONTEXT = 3;
/** Two definitions that have less than this in common are shown one after the other: to compare them would take for ever. */
const MAX_EDITS = 2_000;

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
  const changes = diffArrays(old, now, { maxEditLength: MAX_EDITS }) ?? [
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
