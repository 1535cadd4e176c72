import { z } from 'zod';
import { ReviewId, RunId, type SquadId } from './ids.ts';
import { InboxItem } from './inbox.ts';
import { ReviewOutcome } from './review.ts';
import { Leftover, RunError, RunStatus, StopReason, Usage } from './run.ts';

/** Everything that can happen, once each. The page, the terminal and the log read this stream and nothing else. */
export const EventBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hub.started'), version: z.string(), pid: z.number() }),
  z.object({ type: z.literal('hub.stopped'), reason: z.string() }),
  z.object({
    type: z.literal('hub.recovered'),
    watched: z.number(),
    ended: z.number(),
    requeued: z.number(),
    lost: z.number(),
  }),
  /** The database had lost commits, or was damaged; runs were restored from their folders. */
  z.object({
    type: z.literal('database.restored'),
    why: z.string(),
    /** Runs that were missing; runs that were out of date; runs whose folder has no record of them. */
    restored: z.number(),
    updated: z.number(),
    unrecorded: z.number(),
    /** The damaged file, moved aside. */
    kept: z.string().nullable(),
  }),
  z.object({ type: z.literal('squad.created'), members: z.number() }),
  z.object({
    type: z.literal('run.queued'),
    roleId: z.string().nullable(),
    engine: z.string(),
    /** The one it is a call of. */
    subagent: z.string().optional(),
    /** Not its first. */
    turn: z.number().optional(),
  }),
  /** No pid: it had ended when the hub that found it looked. */
  z.object({ type: z.literal('run.started'), turn: z.number(), pid: z.number().nullable() }),
  z.object({
    type: z.literal('run.activity'),
    kind: z.enum(['text', 'tool', 'note']),
    text: z.string(),
    /** Steps before it that came too fast to be told one by one. */
    skipped: z.number().optional(),
  }),
  /** How quiet it is, from its own signs and its processes; null: it gave a sign again. */
  z.object({
    type: z.literal('run.quiet'),
    state: z.enum(['slow_start', 'silent', 'stalled', 'dead']).nullable(),
    text: z.string(),
  }),
  z.object({
    type: z.literal('run.budget'),
    spentUsd: z.number(),
    budgetUsd: z.number(),
    scope: z.enum(['run', 'squad', 'day']),
  }),
  z.object({
    type: z.literal('run.stopping'),
    reason: StopReason,
    /** Who wanted it, where somebody did: a client by its name, a run by its id. */
    by: z.string().optional(),
  }),
  /** An agent wants something of a person, or of the run that started it. */
  z.object({ type: z.literal('inbox.asked'), item: InboxItem }),
  /** Answered, expired or withdrawn. */
  z.object({ type: z.literal('inbox.settled'), item: InboxItem }),
  /** A turn is over and its run is not: it waits for a review. */
  z.object({ type: z.literal('run.turn_ended'), turn: z.number(), exitCode: z.number().nullable() }),
  /** Of the coder's run, like all that follow about reviews. */
  z.object({
    type: z.literal('review.requested'),
    reviewId: ReviewId,
    reviewerId: RunId,
    iteration: z.number(),
    commit: z.string(),
  }),
  z.object({
    type: z.literal('review.closed'),
    reviewId: ReviewId,
    reviewerId: RunId,
    iteration: z.number(),
    outcome: ReviewOutcome,
    reason: z.string().nullable(),
    feedbackCommit: z.string().nullable(),
  }),
  /** Null: the setting counts again. */
  z.object({ type: z.literal('review.limit_changed'), lineageId: RunId, limit: z.number().nullable() }),
  z.object({ type: z.literal('worktree.made'), path: z.string(), branch: z.string() }),
  z.object({
    type: z.literal('worktree.removed'),
    path: z.string(),
    branch: z.string(),
    /** Where what was not committed is kept; null: there was nothing. */
    savedRef: z.string().nullable(),
    branchIsGone: z.boolean(),
  }),
  z.object({ type: z.literal('worktree.kept'), path: z.string(), why: z.string() }),
  z.object({
    type: z.literal('pull_request.opened'),
    number: z.number(),
    url: z.string(),
    branch: z.string(),
    /** It had been opened before. */
    existed: z.boolean(),
  }),
  z.object({
    type: z.literal('issues.created'),
    issues: z.array(z.object({ number: z.number(), url: z.string(), title: z.string() })),
  }),
  z.object({
    type: z.literal('branch.integrated'),
    branch: z.string(),
    into: z.string(),
    commit: z.string(),
  }),
  z.object({
    type: z.literal('run.ended'),
    status: RunStatus,
    exitCode: z.number().nullable(),
    error: RunError.nullable(),
    usage: Usage.nullable(),
    leftovers: z.array(Leftover),
    durationMs: z.number().nullable(),
  }),
  z.object({
    type: z.literal('tool.called'),
    tool: z.string(),
    client: z.string().nullable(),
    ok: z.boolean(),
    code: z.string().nullable(),
    durationMs: z.number(),
    /** Calls alike that were denied and are told as one. */
    count: z.number().int().optional(),
  }),
  z.object({ type: z.literal('setting.changed'), key: z.string(), value: z.string().nullable() }),
  z.object({ type: z.literal('runs.pruned'), runs: z.number(), bytes: z.number() }),
]);
export type EventBody = z.infer<typeof EventBody>;

export interface NewEvent {
  at: number;
  runId: RunId | null;
  squadId: SquadId | null;
  body: EventBody;
}

/** `seq` is one rising sequence for the whole hub: "everything after 1234" means one thing. */
export interface Event extends NewEvent {
  seq: number;
}
