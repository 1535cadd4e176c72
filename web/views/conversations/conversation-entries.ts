import type { Output } from '../../../src/operations/operations.ts';
import { callKey, madeCalls, runsByCall } from '../../../src/schema/conversation-view.ts';

export type Conversation = Output<'get_conversation'>;
export type Message = Conversation['messages'][number];
export type Part = Message['content'][number];
export type Call = Part & { type: 'tool_call' };
export type Result = Part & { type: 'tool_result' };
export type MoreCalls = Part & { type: 'more_calls' };
export type Nested = Conversation['nested'][number];

/** Result of a tool call, and the message that contains it. */
export interface Answer {
  result: Result;
  messageId: string;
}

/** A call and its result, in the message that contains the call. */
export interface TalkCall {
  call: Call;
  messageId: string;
  answer: Answer | null;
  nested: Nested[];
}

/** Calls that a program of the model made. */
export interface Made {
  calls: TalkCall[];
  more: MoreCalls | null;
}

export type TalkPart =
  /** Text or another part without a tool call. `index` is the part's position in its message. */
  | { kind: 'part'; part: Exclude<Part, Call | Result | MoreCalls>; index: number }
  | ({ kind: 'call'; made: Made | null } & TalkCall)
  /** A tool result whose call is not shown. */
  | { kind: 'answer'; answer: Answer }
  | { kind: 'more'; more: MoreCalls };

export interface ConversationEntry {
  id: string;
  role: Message['role'];
  at: number;
  parts: TalkPart[];
  /** True if the message before this one is missing. */
  hasGap: boolean;
}

/**
 * Rows of a conversation. A call includes its result and the calls of its program: these get rows of their own only if
 * the call that they belong to is not shown.
 */
export function talkOf(messages: readonly Message[], nested: readonly Nested[]): ConversationEntry[] {
  const answers = new Map<string, Answer>();
  const calls = new Set<string>();
  for (const message of messages)
    for (const part of message.content) {
      if (part.type === 'tool_call') calls.add(callKey(message, part.id));
      if (part.type === 'tool_result')
        answers.set(callKey(message, part.id), { result: part, messageId: message.id });
    }
  const started = runsByCall(messages, nested);
  const programs = madeCalls<Part>(messages);
  const talkCall = (key: string, call: Call, messageId: string): TalkCall => ({
    call,
    messageId,
    answer: answers.get(key) ?? null,
    nested: started.get(key) ?? [],
  });
  const madeIn = (program: string): Made | null => {
    const made = programs.get(program);
    return made
      ? { calls: made.calls.map(({ key, call, callIn }) => talkCall(key, call, callIn)), more: made.more }
      : null;
  };
  let before: string | null = null;
  return messages.flatMap((message): ConversationEntry[] => {
    const { id, role, at } = message;
    const parts = message.content.flatMap((part, index): TalkPart[] => {
      if ('within' in part && part.within !== undefined && calls.has(callKey(message, part.within)))
        return [];
      if (part.type === 'more_calls') return [{ kind: 'more', more: part }];
      if (part.type !== 'tool_call' && part.type !== 'tool_result') return [{ kind: 'part', part, index }];
      const key = callKey(message, part.id);
      if (part.type === 'tool_call') return [{ kind: 'call', ...talkCall(key, part, id), made: madeIn(key) }];
      return calls.has(key) ? [] : [{ kind: 'answer', answer: { result: part, messageId: id } }];
    });
    const hasGap = role !== 'program' && before !== null && message.parentId !== before;
    if (role !== 'program') before = id;
    if (parts.length === 0 && !hasGap && message.content.length > 0) return [];
    return [{ id, role, at, parts, hasGap }];
  });
}
