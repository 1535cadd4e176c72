import { runsByCall } from '../../../../src/schema/nested-runs.ts';
import type { Answers } from '../../../state/operations.ts';

export type Conversation = Answers['get_conversation'];
export type Message = Conversation['messages'][number];
export type Part = Message['content'][number];
export type Call = Part & { type: 'tool_call' };
export type Result = Part & { type: 'tool_result' };
export type Nested = Conversation['nested'][number];

/** What a tool gave back, and the message that has it. */
export interface Answer {
  result: Result;
  messageId: string;
}

export type TalkPart =
  /** `index`: where in its message. */
  | { kind: 'part'; part: Exclude<Part, Call | Result>; index: number }
  | { kind: 'call'; call: Call; answer: Answer | null; nested: Nested[] }
  /** Without the call that it answers. */
  | { kind: 'answer'; answer: Answer };

export interface Said {
  id: string;
  role: Message['role'];
  at: number;
  parts: TalkPart[];
  /** The one before it is not here. */
  hasGap: boolean;
}

/** What was said, each call with what came of it: what tools gave back is no row of its own where its call is shown. */
export function talkOf(messages: readonly Message[], nested: readonly Nested[]): Said[] {
  const answers = new Map<string, Answer>();
  const calls = new Set<string>();
  for (const { id, content } of messages)
    for (const part of content) {
      if (part.type === 'tool_call') calls.add(part.id);
      if (part.type === 'tool_result') answers.set(part.id, { result: part, messageId: id });
    }
  const started = runsByCall(messages, nested);
  return messages.flatMap((message, index) => {
    const parts = message.content.flatMap((part, at): TalkPart[] => {
      if (part.type === 'tool_call')
        return [
          {
            kind: 'call',
            call: part,
            answer: answers.get(part.id) ?? null,
            nested: started.get(part.id) ?? [],
          },
        ];
      if (part.type !== 'tool_result') return [{ kind: 'part', part, index: at }];
      return calls.has(part.id) ? [] : [{ kind: 'answer', answer: { result: part, messageId: message.id } }];
    });
    const hasGap = index > 0 && message.parentId !== messages[index - 1]!.id;
    if (parts.length === 0 && !hasGap && message.content.length > 0) return [];
    return [{ id: message.id, role: message.role, at: message.at, parts, hasGap }];
  });
}
