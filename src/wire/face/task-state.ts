import type { InputRequests } from '@modelcontextprotocol/server';
import type { FinalToolResult } from './face.ts';

interface TaskFacts {
  id: string;
  /** One line about where it stands, for the user and the model. */
  statusMessage?: string;
  /** Milliseconds since 1970, as `lastUpdatedAt`. */
  createdAt: number;
  lastUpdatedAt: number;
  /** How long after its creation it can be asked for; null: for good. */
  ttlMs: number | null;
  pollIntervalMs?: number;
}

/** Work that goes on after its call was answered. Work that went wrong is `completed`, with a result that says so. */
export type TaskState = TaskFacts &
  (
    | { status: 'working' | 'cancelled' }
    | { status: 'input_required'; inputRequests: InputRequests }
    | { status: 'completed'; result: FinalToolResult }
    /** There is no result to give: what the call would have thrown. */
    | { status: 'failed'; error: unknown }
  );
