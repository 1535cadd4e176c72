import { z } from 'zod';
import { FILE_NAME, MAX_FILES, PROTOCOL } from '../runner/protocol.ts';
import { MachineFacts } from '../schema/machines/machine.ts';

/** Schemas of answers. A box may send anything, and a message that matches no schema ends the connection. */
const path = z.string().max(4096);
const count = z.number().int().nonnegative();
const commit = z.string().regex(/^[0-9a-f]{40,64}$/);
const time = z.number().nonnegative();

const TurnEndState = z.object({
  exitCode: z.int().min(0).max(255).nullable(),
  spawnError: z.string().max(20_000).nullable(),
  leftovers: z.array(z.object({ pid: count, command: z.string().max(10_000) })).max(10_000),
  endedAt: time,
  lapsed: z.boolean(),
});

const TurnState = z.object({
  state: z.enum(['live', 'ended', 'gone', 'never_started']),
  pid: count,
  startedAt: time,
  end: TurnEndState.nullable(),
});
export type BoxTurnState = z.infer<typeof TurnState>;

const Stats = z.object({
  alive: z.boolean(),
  stopped: z.boolean(),
  cpuMs: z.number(),
  ioBytes: z.number().nullable(),
  processes: count,
});

const ANSWERS = {
  ping: z.object({ now: time, boot: time }),
  probe: z.object({
    ...MachineFacts.pick({ clis: true, git: true, node: true, diskFreeBytes: true }).shape,
    now: time,
  }),
  start: TurnState,
  find: TurnState,
  read: z.object({ stream: z.enum(['stdout', 'stderr']).optional(), state: TurnState.optional() }),
  stop: z.object({}),
  stats: z.object({ stats: Stats.nullable() }),
  wrote: z.object({ names: z.array(z.string().regex(FILE_NAME)).max(MAX_FILES) }),
  get: z.object({ size: count }),
  put: z.object({}),
  door: z.object({ port: z.int().min(1).max(65_535) }),
  haves: z.object({ commits: z.array(commit).max(1000) }),
  checkout: z.object({ kept: path.nullable() }),
  collect: z.object({ tip: commit, work: commit, bundle: path.nullable(), size: count }),
  keep: z.object({}),
  error: z.object({ code: z.string().max(100), message: z.string().max(20_000) }),
};

export type Answers = { [N in keyof typeof ANSWERS]: z.infer<(typeof ANSWERS)[N]> };

/** Parses an answer. Throws if it does not match its schema. */
export const answerOf = <N extends keyof Answers>(op: N, value: unknown): Answers[N] =>
  ANSWERS[op].parse(value) as Answers[N];

const Line = z.discriminatedUnion('squad', [
  z.object({ squad: z.literal('send') }),
  z.object({ squad: z.literal('problem'), code: z.string().max(100) }),
  z.object({
    squad: z.literal('runner'),
    protocol: z.literal(PROTOCOL),
    machine: z.string().regex(/^m_[0-9a-f]+$/),
    base: path.startsWith('/'),
    node: path.startsWith('/'),
    programs: path.startsWith('/'),
    os: z.string().max(100),
    cpus: count.min(1),
    now: time,
    boot: time,
  }),
]);

/** Parses a line before the handshake. Null for other output, such as that of a shell profile. */
export const firstLine = (line: string): z.infer<typeof Line> | null =>
  line.startsWith('{"squad":') ? Line.parse(JSON.parse(line)) : null;
