import { callKey } from './call-key.ts';
import type { StoredMessage, TracePart } from './conversation.ts';

type Called<P> = Extract<P, { type: 'tool_call' }>;
type Came<P> = Extract<P, { type: 'tool_result' }>;

/** A call that a program made. `callIn`: the message that has it. */
export interface MadeCall<P extends TracePart> {
  key: string;
  call: Called<P>;
  callIn: string;
  result: Came<P> | null;
}

/** What one program called, in the order it did, and how much more that is not kept. */
export interface MadeCalls<P extends TracePart> {
  calls: MadeCall<P>[];
  more: Extract<P, { type: 'more_calls' }> | null;
}

/** What programs called, by the keys of the model's calls that ran them. */
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
