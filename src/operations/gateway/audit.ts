import { z } from 'zod';
import { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import { RunId } from '../../schema/ids.ts';
import { operation } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';

/** The newest entries of the audit log, oldest first: requests of agents to other servers. */
export const readAudit = operation({
  name: 'read_audit',
  route: 'GET /audit',
  input: z.strictObject({
    /** An id, or the beginning of one. */
    run: z.string().optional(),
    deniedOnly: z.boolean().default(false),
    limit: z.number().int().min(1).max(1000).default(50),
  }),
  output: z.object({ entries: z.array(AuditRecord), unreadable: z.number() }),
  async run({ services }, { run, deniedOnly, limit }) {
    // The run of a whole id may be pruned: the log outlives it.
    const whole = RunId.safeParse(run).data;
    const runId = run === undefined ? undefined : (whole ?? (await findRun(services, run)).id);
    return services.audit.entries({ runId, deniedOnly, limit });
  },
});

/** Whether the audit log is complete and unchanged. */
export const verifyAudit = operation({
  name: 'verify_audit',
  route: 'GET /audit/verification',
  input: z.strictObject({}),
  output: AuditVerdict,
  run: ({ services }) => services.audit.verify(),
});
