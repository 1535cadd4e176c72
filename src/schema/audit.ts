import { z } from 'zod';

/** One line of the audit log. */
export const AuditRecord = z.object({
  /** 1, 2, 3 … over all files. */
  seq: z.number().int(),
  /** ISO 8601, UTC. */
  at: z.string(),
  runId: z.string().nullable(),
  roleId: z.string().nullable(),
  subagent: z.string().optional(),
  workspace: z.string(),
  server: z.string().nullable(),
  kind: z.string(),
  name: z.string(),
  decision: z.enum(['allowed', 'denied']),
  outcome: z.string(),
  argumentShape: z.string().optional(),
  argumentHash: z.string().optional(),
  resultBytes: z.number().optional(),
  resultHash: z.string().optional(),
  durationMs: z.number().optional(),
  count: z.number().int().optional(),
  /** The hash of the line before. */
  prev: z.string(),
  hash: z.string(),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

/** Where the log stops being what was written. */
export const AuditBreak = z.object({
  file: z.string(),
  /** Counted from 1. */
  line: z.number().int(),
  /** The number that was due there. */
  seq: z.number().int(),
  what: z.enum([
    /** A line is not what was written. */
    'edited',
    /** Lines that were written are not there. */
    'missing',
    /** A line stands where another should. */
    'reordered',
    /** The end is not there. */
    'cut',
    /** No line of ours at all. */
    'unreadable',
  ]),
  message: z.string(),
});
export type AuditBreak = z.infer<typeof AuditBreak>;

export const AuditVerdict = z.object({
  /** Null: every line is what was written, where it was written. */
  problem: AuditBreak.nullable(),
  /** Lines that are in order, up to the break if there is one. */
  entries: z.number().int(),
  files: z.number().int(),
  /** Of the last line in order: kept elsewhere, it proves that nothing up to there was rewritten. Null: there is none. */
  lastHash: z.string().nullable(),
});
export type AuditVerdict = z.infer<typeof AuditVerdict>;
