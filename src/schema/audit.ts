import { z } from 'zod';

/** One line of the audit log. It contains shapes, sizes and hashes, never the value of an argument or a result. */
export const AuditRecord = z.object({
  /** Line number in the log, counted across all files from 1. */
  seq: z.number().int(),
  /** Time in ISO 8601, UTC. */
  at: z.string(),
  runId: z.string().nullable(),
  roleId: z.string().nullable(),
  /** Name of the subagent, if the run is a call of a subagent. */
  subagent: z.string().optional(),
  workspace: z.string(),
  server: z.string().nullable(),
  /** Kind of request: `tool`, `resource`, `prompt`, `completion`, `approval`… */
  kind: z.string(),
  /** The server's own name of the requested thing. If that is unknown, the name in the request. */
  name: z.string(),
  decision: z.enum(['allowed', 'denied']),
  /**
   * Reason for the denial, or result of the call: `asked` (no result yet), `ok`, `tool_error`, `unavailable`,
   * `timeout`, `cancelled`, `unknown`, `argument_rule`…
   */
  outcome: z.string(),
  /** Arguments by name and type: `{"path":"string","lines":"number"}`. */
  argumentShape: z.string().optional(),
  argumentHash: z.string().optional(),
  resultBytes: z.number().optional(),
  resultHash: z.string().optional(),
  durationMs: z.number().optional(),
  /** Number of similar denials in this line (default: 1). */
  count: z.number().int().optional(),
  /** Hash of the previous line. */
  prev: z.string(),
  hash: z.string(),
});
export type AuditRecord = z.infer<typeof AuditRecord>;

/** The first place where the log differs from what was written. */
export const AuditBreak = z.object({
  file: z.string(),
  /** Line number in the file, from 1. */
  line: z.number().int(),
  /** The expected line number in the log. */
  seq: z.number().int(),
  what: z.enum([
    /** A line was changed. */
    'edited',
    /** Lines are missing. */
    'missing',
    /** A line is in the wrong place. */
    'reordered',
    /** The end of the log is missing. */
    'cut',
    /** A line cannot be parsed as an entry. */
    'unreadable',
  ]),
  message: z.string(),
});
export type AuditBreak = z.infer<typeof AuditBreak>;

export const AuditVerdict = z.object({
  /** Null if the log is intact. */
  problem: AuditBreak.nullable(),
  /** Number of intact lines, up to the problem if there is one. */
  entries: z.number().int(),
  files: z.number().int(),
  /**
   * Hash of the last intact line. Null if there is none. A copy stored elsewhere proves that nothing before it was
   * rewritten.
   */
  lastHash: z.string().nullable(),
});
export type AuditVerdict = z.infer<typeof AuditVerdict>;
