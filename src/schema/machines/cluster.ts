import { z } from 'zod';

/** Facts that a running hub reports about itself. */
export const HubFacts = z.object({
  version: z.string(),
  pid: z.number(),
  startedAt: z.number(),
  /** Its clock, at the time of the answer. */
  now: z.number(),
  memoryBytes: z.number(),
});
export type HubFacts = z.infer<typeof HubFacts>;

/** A hub of a shared database, as the database and the hub itself describe it. */
export const HubReport = z.object({
  id: z.string(),
  home: z.string(),
  host: z.string(),
  isOwn: z.boolean().describe('Whether this is the hub that was asked'),
  isConnected: z.boolean().describe('Whether the hub has a session that writes to the database'),
  running: z.number().describe('Runs of the hub that have not ended and are not queued'),
  queued: z.number(),
  version: z
    .string()
    .nullable()
    .describe('Version of the last process of the hub. Null before it had a lease'),
  silentMs: z.number().nullable().describe('Time since its last heartbeat. Null if it left without runs'),
  leaseMs: z
    .number()
    .nullable()
    .describe('How long after a heartbeat its agents may run. Null if no other hub takes over its runs'),
  answer: HubFacts.extend({
    tookMs: z.number().describe('Time from the question to the answer, by notifications of the database'),
    clockAheadMs: z.number().describe('Its clock compared with that of the database server'),
  })
    .nullable()
    .describe('Null if the hub did not answer'),
});
export type HubReport = z.infer<typeof HubReport>;

export const ClusterReport = z.object({
  database: z.string(),
  server: z.string().describe('Version of the PostgreSQL server'),
  hubs: z.array(HubReport),
});
export type ClusterReport = z.infer<typeof ClusterReport>;

/** Facts about a database that a hub can use. */
export interface DatabaseFacts {
  database: string;
  user: string;
  /** Version of the server. */
  server: string;
  /** Null without TLS. Not verified means that the server can be another one than the URL names. */
  tls: { version: string; isVerified: boolean } | null;
  /** Number of hubs that have used the database. Null if it has no tables of Squad yet. */
  hubs: number | null;
  /** Migrations that the hub will apply. */
  missing: string[];
}
