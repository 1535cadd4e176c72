import { diffArrays } from 'diff';
import { canonicalJson } from '../../base/json.ts';
import type { Definition, PendingChange, Pin } from '../ports/gateway.ts';
import { hashOf } from './definitions.ts';

/**
 * The pins after a list was read. The first list is approved as it is. Later, new and changed tools are pending; until
 * they are approved, the approved definition is kept, for the diff and in case the server returns to it. A tool that is
 * no longer listed keeps only its approval.
 */
export function comparePins(known: readonly Pin[] | null, listed: readonly Definition[], now: number): Pin[] {
  const approved = new Map(known?.filter(({ state }) => state === 'approved').map(pin => [pin.name, pin]));
  const waiting = new Map(known?.filter(({ state }) => state === 'pending').map(pin => [pin.name, pin]));
  const pins = new Map(known === null ? [] : approved);
  const pending: Pin[] = [];
  for (const { name, hash, definition, isAmbiguous } of distinct(listed)) {
    if (approved.get(name)?.hash === hash && !isAmbiguous) continue;
    const before = waiting.get(name);
    const seenAt = before?.hash === hash ? before.seenAt : now;
    if (known === null && !isAmbiguous) pins.set(name, { name, hash, definition, state: 'approved', seenAt });
    else pending.push({ name, hash, definition, state: 'pending', seenAt });
  }
  return [...pins.values(), ...pending, ...(known ?? []).filter(({ state }) => state === 'confirmed')];
}

/** The pins after the user has confirmed these list entries, which match no tool. */
export function confirmEntries(pins: readonly Pin[], entries: readonly string[], now: number): Pin[] {
  const confirmed = new Set(pins.filter(({ state }) => state === 'confirmed').map(({ name }) => name));
  return [
    ...pins,
    ...entries
      .filter(name => !confirmed.has(name))
      .map(name => ({ name, hash: '', definition: { name }, state: 'confirmed' as const, seenAt: now })),
  ];
}

/**
 * Names of usable tools: approved, and without a pending change. With the current list, only tools that still equal the
 * approved definition.
 */
export function usable(pins: readonly Pin[], listed?: readonly Definition[]): Set<string> {
  const pending = new Set(pins.filter(({ state }) => state === 'pending').map(({ name }) => name));
  return usableAlone(
    pins.filter(({ name }) => !pending.has(name)),
    listed,
  );
}

/**
 * Like `usable`, for a server instance that only one run has: pending definitions of other instances do not matter to
 * it.
 */
export function usableAlone(pins: readonly Pin[], listed: readonly Definition[] | undefined): Set<string> {
  const approved = new Map(pins.flatMap(pin => (pin.state === 'approved' ? [[pin.name, pin.hash]] : [])));
  if (!listed) return new Set(approved.keys());
  return new Set(
    distinct(listed)
      .filter(({ name, hash, isAmbiguous }) => !isAmbiguous && approved.get(name) === hash)
      .map(({ name }) => name),
  );
}

/** Approves the pending definitions of these names. */
export function approvePins(pins: readonly Pin[], names: readonly string[]): Pin[] {
  const isMeant = ({ name, state }: Pin) => state === 'pending' && names.includes(name);
  const meant = new Set(pins.filter(isMeant).map(({ name }) => name));
  return pins.flatMap(pin => {
    if (!meant.has(pin.name)) return [pin];
    return pin.state === 'pending' ? [{ ...pin, state: 'approved' as const }] : [];
  });
}

/**
 * Definitions by name. If a name is listed twice with different definitions, it is dropped, because it is unknown
 * which one a call would reach.
 */
function distinct(listed: readonly Definition[]) {
  const byName = new Map<
    string,
    { name: string; hash: string; definition: Definition; isAmbiguous: boolean }
  >();
  for (const definition of listed) {
    const { name } = definition;
    const hash = hashOf(definition);
    const before = byName.get(name);
    if (!before) byName.set(name, { name, hash, definition, isAmbiguous: false });
    else if (before.hash !== hash) before.isAmbiguous = true;
  }
  return [...byName.values()];
}

/** Number of unchanged lines that are shown around a change. */
const CONTEXT = 3;
/**
 * Number of edits from which two definitions are shown one after the other, because comparing them would take too long.
 */
const MAX_EDITS = 2_000;

/** Pending definitions, each with the difference to the approved one. */
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

/** Leaves out unchanged lines that are not next to a change. */
function shortened(lines: string[], isAfterChange: boolean, isBeforeChange: boolean): string[] {
  const head = isAfterChange ? CONTEXT : 0;
  const tail = isBeforeChange ? CONTEXT : 0;
  if (lines.length <= head + tail + 1) return lines;
  return [...lines.slice(0, head), ' …', ...lines.slice(lines.length - tail)];
}

/** Lines of a definition: first the texts, as an agent reads them, then the other fields, sorted. */
function linesOf({ name, title, description, ...rest }: Definition): string[] {
  return [
    `name: ${name}`,
    ...(typeof title === 'string' ? [`title: ${title}`] : []),
    ...(typeof description === 'string'
      ? ['description:', ...description.split('\n').map(line => `  ${line}`)]
      : []),
    ...Object.entries(JSON.parse(canonicalJson(rest)) as object).flatMap(([key, value]) =>
      `${key}: ${JSON.stringify(value, null, 2)}`.split('\n'),
    ),
  ];
}
