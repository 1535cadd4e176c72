import { z } from 'zod';
import { ReviewId, RunId, SquadId } from './ids.ts';
import { InboxItem } from './inbox.ts';
import { ReviewOutcome } from './review.ts';
import { Leftover, MessageDelivery, RunError, RunStatus, StopReason, Usage } from './run.ts';

/** All events. The web UI, the terminal and the log use only this stream. */
export const EventBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('hub.started'), version: z.string(), pid: z.number() }),
  z.object({ type: z.literal('hub.stopped'), reason: z.string() }),
  z.object({
    type: z.literal('hub.recovered'),
    watched: z.number(),
    ended: z.number(),
    requeued: z.number(),
    lost: z.number(),
    /** The home whose hub was lost, if this hub took over the runs of another one. */
    from: z.string().optional(),
  }),
  /** The database had lost commits or was damaged, and runs were restored from their folders. */
  z.object({
    type: z.literal('database.restored'),
    why: z.string(),
    /** Number of runs that were missing in the database. */
    restored: z.number(),
    /** Number of runs whose rows in the database were older than the records in their folders. */
    updated: z.number(),
    /** Number of missing runs without a record in their folder. */
    unrecorded: z.number(),
    /** New name of the damaged file. Null if no file was kept. */
    kept: z.string().nullable(),
  }),
  z.object({ type: z.literal('squad.created'), members: z.number() }),
  z.object({
    type: z.literal('run.queued'),
    roleId: z.string().nullable(),
    engine: z.string(),
    subagent: z.string().optional(),
    /** Number of the turn. Absent for the first turn. */
    turn: z.number().optional(),
  }),
  /** A turn started. The pid is absent if the turn had already ended when a new hub found it. */
  z.object({ type: z.literal('run.started'), turn: z.number(), pid: z.number().nullable() }),
  z.object({
    type: z.literal('run.activity'),
    kind: z.enum(['text', 'tool', 'note']),
    text: z.string(),
    /** Number of earlier steps without an event, because they came too fast. */
    skipped: z.number().optional(),
    /** Usage of the run so far. Absent if it has not changed since the run's last activity. */
    spent: z.object({ tokens: z.number().nullable(), costUsd: z.number().nullable() }).optional(),
  }),
  /** The run shows no activity; `state` is null when it is active again. */
  z.object({
    type: z.literal('run.quiet'),
    state: z.enum(['slow_start', 'silent', 'stalled', 'dead', 'away']).nullable(),
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
    /** Name of the client, or id of the run, that requested the stop. */
    by: z.string().optional(),
  }),
  /** A client or an agent sent the agent of the run a message, for its running or its next turn. */
  z.object({
    type: z.literal('run.told'),
    id: z.string(),
    text: z.string(),
    /** Name of the client, or of the run, that sent the message. */
    by: z.string().nullable(),
    /** The run whose agent sent the message. Absent if a client sent it. */
    from: RunId.optional(),
    delivery: z.enum(['in_turn', 'queued']),
  }),
  /** The agent of the run sent a message. `to` is null if it goes to the client that started the run. */
  z.object({
    type: z.literal('run.sent'),
    id: z.string(),
    to: RunId.nullable(),
    text: z.string(),
    delivery: MessageDelivery,
  }),
  /** Receipt for a queued message of the run's agent: it was put into a prompt, or cannot be delivered any more. */
  z.object({
    type: z.literal('run.receipt'),
    id: z.string(),
    to: RunId,
    delivery: MessageDelivery,
  }),
  /** Another turn of the run began, because of messages of agents or because child runs have ended. */
  z.object({
    type: z.literal('run.woken'),
    turn: z.number(),
    messages: z.number(),
    children: z.array(RunId),
  }),
  /** The engine reported a usage limit. The run waits until a time, or `next` takes over from the engine. */
  z.object({
    type: z.literal('run.limited'),
    turn: z.number(),
    engine: z.string(),
    until: z.number().nullable(),
    next: z.string().nullable(),
  }),
  /** An agent asks a person, or the run that started it. */
  z.object({ type: z.literal('inbox.asked'), item: InboxItem }),
  /** An item was answered, declined, expired or withdrawn. */
  z.object({ type: z.literal('inbox.settled'), item: InboxItem }),
  /**
   * A turn has ended, but not its run. `status` is the new status of the run; absent if the run already waits for a
   * review.
   */
  z.object({
    type: z.literal('run.turn_ended'),
    turn: z.number(),
    exitCode: z.number().nullable(),
    status: RunStatus.optional(),
  }),
  /** Review events belong to the coder's run. */
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
  /** The limit of review rounds was changed. Null means that the limit in the settings applies again. */
  z.object({ type: z.literal('review.limit_changed'), lineageId: RunId, limit: z.number().nullable() }),
  z.object({ type: z.literal('worktree.made'), path: z.string(), branch: z.string() }),
  z.object({
    type: z.literal('worktree.removed'),
    path: z.string(),
    branch: z.string(),
    /** Ref with the uncommitted work. Null if there was none. */
    savedRef: z.string().nullable(),
    branchIsGone: z.boolean(),
  }),
  z.object({ type: z.literal('worktree.kept'), path: z.string(), why: z.string() }),
  z.object({
    type: z.literal('pull_request.opened'),
    number: z.number(),
    url: z.string(),
    branch: z.string(),
    /** True if the pull request was already open. */
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
    /** Number of identical denied calls in this event. */
    count: z.number().int().optional(),
  }),
  z.object({ type: z.literal('setting.changed'), key: z.string(), value: z.string().nullable() }),
  z.object({ type: z.literal('runs.pruned'), runs: z.number(), bytes: z.number() }),
]);
export type EventBody = z.infer<typeof EventBody>;

/** `seq` is one increasing sequence for the whole hub, so that "everything after 1234" is unambiguous. */
export const Event = z.object({
  seq: z.number(),
  at: z.number(),
  runId: RunId.nullable(),
  squadId: SquadId.nullable(),
  body: EventBody,
});
export type Event = z.infer<typeof Event>;
export type NewEvent = Omit<Event, 'seq'>;
