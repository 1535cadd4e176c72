import type { StoredMessage } from './trace.ts';

/** A run that the one whose conversation it is has started. */
export interface NestedRun {
  id: string;
  /** Null: it is no subagent. */
  subagent: string | null;
  createdAt: number;
}

interface Call {
  id: string;
  name: string;
  from: number;
  until: number;
}

/**
 * Which call of a tool started which run, where that can be told: runs say who their parent is, not which of its calls it was. It
 * is the one call that was under way then, or the one of those whose tool is named as the subagent.
 */
export function runsByCall<R extends NestedRun>(
  messages: readonly Pick<StoredMessage, 'at' | 'content'>[],
  runs: readonly R[],
): Map<string, R[]> {
  const calls = callsIn(messages);
  const found = new Map<string, R[]>();
  for (const run of runs) {
    const open = calls.filter(({ from, until }) => from <= run.createdAt && run.createdAt <= until);
    const named = open.filter(({ name }) => isNamed(name, run.subagent));
    const call = named.length === 1 ? named[0] : open.length === 1 ? open[0] : undefined;
    if (call) found.set(call.id, [...(found.get(call.id) ?? []), run]);
  }
  return found;
}

function callsIn(messages: readonly Pick<StoredMessage, 'at' | 'content'>[]): Call[] {
  const calls = new Map<string, Call>();
  for (const { at, content } of messages)
    for (const part of content) {
      if (part.type === 'tool_call')
        calls.set(part.id, { id: part.id, name: part.name, from: at, until: Number.POSITIVE_INFINITY });
      const call = part.type === 'tool_result' ? calls.get(part.id) : undefined;
      if (call) call.until = at;
    }
  return [...calls.values()];
}

/** Tools of other servers are known as `{server}__{tool}`. */
const isNamed = (tool: string, subagent: string | null): boolean =>
  subagent !== null && (tool === subagent || tool.endsWith(`__${subagent}`));
