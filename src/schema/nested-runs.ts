import { callKey } from './call-key.ts';
import type { StoredMessage } from './conversation.ts';

/** A run that the one whose conversation it is has started. */
export interface NestedRun {
  id: string;
  /** Null: it is no subagent. */
  subagent: string | null;
  createdAt: number;
}

type Said = Pick<StoredMessage, 'id' | 'parentId' | 'role' | 'at' | 'content'>;

interface Call {
  key: string;
  name: string;
  /** The key of the one whose program made it. */
  within: string | undefined;
  from: number;
  until: number;
}

/**
 * Which call of a tool, by its key, started which run, where that can be told: runs say who their parent is, not which of its calls it was. It
 * is the one call that was under way then, or the one of those whose tool is named as the subagent. Of calls in a program it is
 * the program's where nothing closer can be told.
 */
export function runsByCall<R extends NestedRun>(
  messages: readonly Said[],
  runs: readonly R[],
): Map<string, R[]> {
  const calls = callsIn(messages);
  const found = new Map<string, R[]>();
  for (const run of runs) {
    const open = calls.filter(({ from, until }) => from <= run.createdAt && run.createdAt <= until);
    const closest = open.filter(({ key }) => !open.some(({ within }) => within === key));
    const named = closest.filter(({ name }) => isNamed(name, run.subagent));
    const byModel = open.filter(({ within }) => within === undefined);
    const call = only(named) ?? only(closest) ?? only(byModel);
    if (call) found.set(call.key, [...(found.get(call.key) ?? []), run]);
  }
  return found;
}

function callsIn(messages: readonly Said[]): Call[] {
  const calls = new Map<string, Call>();
  for (const message of messages)
    for (const part of message.content) {
      if (part.type === 'tool_call') {
        const key = callKey(message, part.id);
        const within = part.within === undefined ? undefined : callKey(message, part.within);
        const from = part.at ?? message.at;
        calls.set(key, { key, name: part.name, within, from, until: Number.POSITIVE_INFINITY });
      } else if (part.type === 'tool_result') {
        const call = calls.get(callKey(message, part.id));
        if (call) call.until = part.at ?? message.at;
      }
    }
  return [...calls.values()];
}

const only = <T>(all: readonly T[]): T | undefined => (all.length === 1 ? all[0] : undefined);

/** Tools of other servers are known as `{server}__{tool}`. */
const isNamed = (tool: string, subagent: string | null): boolean =>
  subagent !== null && (tool === subagent || tool.endsWith(`__${subagent}`));
