import type { StoredMessage, TracePart } from './conversation.ts';

/**
 * Identifies a call within a conversation. Providers may reuse call ids in every turn of the model, so the key includes the message.
 * Tool results and calls of a program are children of the message with the call.
 */
export const callKey = (
  { id, parentId, role }: Pick<StoredMessage, 'id' | 'parentId' | 'role'>,
  callId: string,
): string => `${role === 'tool' || role === 'program' ? parentId : id} ${callId}`;

type Called<P> = Extract<P, { type: 'tool_call' }>;
type Came<P> = Extract<P, { type: 'tool_result' }>;

/** A tool call that a program of the model made. */
export interface MadeCall<P extends TracePart> {
  key: string;
  call: Called<P>;
  /** Id of the message that contains the call. */
  callIn: string;
  result: Came<P> | null;
}

/** The recorded calls of one program in order, and the number of calls that were not recorded. */
export interface MadeCalls<P extends TracePart> {
  calls: MadeCall<P>[];
  more: Extract<P, { type: 'more_calls' }> | null;
}

/** Calls of programs, grouped by the key of the model's call that ran the program. */
export function madeCalls<P extends TracePart>(
  messages: readonly (Pick<StoredMessage, 'id' | 'parentId' | 'role'> & { content: readonly P[] })[],
): Map<string, MadeCalls<P>> {
  const programs = new Map<string, MadeCalls<P>>();
  const open = new Map<string, MadeCall<P>>();
  for (const message of messages) {
    if (message.role !== 'program') continue;
    const ofProgram = (id = '') => at(callKey(message, id));
    for (const part of message.content) {
      if (isOf(part, 'tool_call')) {
        const key = callKey(message, part.id);
        const made = { key, call: part, callIn: message.id, result: null };
        open.set(key, made);
        ofProgram(part.within).calls.push(made);
      } else if (isOf(part, 'tool_result')) {
        const made = open.get(callKey(message, part.id));
        if (made) made.result = part;
      } else if (isOf(part, 'more_calls')) ofProgram(part.within).more = part;
    }
  }
  return programs;

  function at(key: string): MadeCalls<P> {
    const made = programs.get(key) ?? { calls: [], more: null };
    programs.set(key, made);
    return made;
  }
}

const isOf = <P extends TracePart, T extends P['type']>(part: P, type: T): part is Extract<P, { type: T }> =>
  part.type === type;

/** A run that was started from within the conversation. */
export interface NestedRun {
  id: string;
  subagent: string | null;
  createdAt: number;
}

type Said = Pick<StoredMessage, 'id' | 'parentId' | 'role' | 'at' | 'content'>;

interface Call {
  key: string;
  name: string;
  /** Key of the call that ran the program, if a program made this call. */
  within: string | undefined;
  from: number;
  until: number;
}

/**
 * Maps tool calls, by key, to the runs they started, as far as that is certain: a run records its parent, but not the
 * call. If only one call was in progress when the run started, the run belongs to that call. If there were several, it
 * belongs to the only one whose tool has the name of the subagent. If several calls of a program were in progress, it
 * belongs to the call that ran the program.
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

/** Whether a tool has this name, alone or as `{server}__{tool}` of another server. */
const isNamed = (tool: string, subagent: string | null): boolean =>
  subagent !== null && (tool === subagent || tool.endsWith(`__${subagent}`));

export function moreCalls({ calls, failed }: { calls: number; failed: number }): string {
  const text = calls === 1 ? '1 more call' : `${calls} more calls`;
  return failed === 0 ? text : `${text}, ${failed} failed`;
}
