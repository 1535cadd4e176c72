import { z } from 'zod';
import type { Event } from './event.ts';
import { RunId } from './ids.ts';
import type { InboxItem } from './inbox.ts';
import type { RunCard } from './run-card.ts';

/** Messages of the hub on the WebSocket of the web UI, as JSON text. */
export type LiveMessage =
  | { type: 'hello'; version: string; hubStartedAt: number; last: number }
  /**
   * New events, and all changed cards and items as a whole, so that the web UI need not derive anything from events.
   */
  | { type: 'changes'; events: Event[]; runs: RunCard[]; inbox: InboxItem[]; last: number }
  /** Too many changes: the web UI must load everything again. The feed continues after `last`. */
  | { type: 'reset'; last: number; why: string }
  /** A watched output has grown, or a message of its conversation was stored. The web UI fetches the new part. */
  | {
      type: 'grew';
      runId: RunId;
      turn: number;
      stream: 'stdout' | 'stderr';
      size: number;
      /** Number of stored messages of the running run's conversation. */
      messages: number;
      isOver: boolean;
    }
  | { type: 'beat'; at: number };

/** Messages of the web UI to the hub. */
export const ClientMessage = z.strictObject({
  type: z.enum(['watch', 'unwatch']),
  runId: RunId,
  turn: z.number().int().min(1),
  stream: z.enum(['stdout', 'stderr']),
});
export type ClientMessage = z.infer<typeof ClientMessage>;
