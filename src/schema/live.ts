import { z } from 'zod';
import type { Event } from './event.ts';
import { RunId } from './ids.ts';
import type { InboxItem } from './inbox.ts';
import type { RunCard } from './run-card.ts';

/** What the hub says on a page's one WebSocket, each a JSON text message. */
export type LiveMessage =
  | { type: 'hello'; version: string; hubStartedAt: number; last: number }
  /** What happened, and everything that is different since, whole: nothing has to be worked out from events. */
  | { type: 'changes'; events: Event[]; runs: RunCard[]; inbox: InboxItem[]; last: number }
  /** Too much happened to be told one by one: ask for everything anew, it goes on after `last`. */
  | { type: 'reset'; last: number; why: string }
  /** A watched output has grown, or a message in it was stored; both are asked for by range. */
  | {
      type: 'grew';
      runId: RunId;
      turn: number;
      stream: 'stdout' | 'stderr';
      size: number;
      /** Of the conversation of the run at work, stored so far. */
      messages: number;
      isOver: boolean;
    }
  | { type: 'beat'; at: number };

/** What a page may say. */
export const ClientMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('watch'),
    runId: RunId,
    turn: z.number().int().min(1),
    stream: z.enum(['stdout', 'stderr']),
  }),
  z.strictObject({
    type: z.literal('unwatch'),
    runId: RunId,
    turn: z.number().int().min(1),
    stream: z.enum(['stdout', 'stderr']),
  }),
]);
export type ClientMessage = z.infer<typeof ClientMessage>;
