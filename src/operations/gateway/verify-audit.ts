import { z } from 'zod';
import { AuditVerdict } from '../../schema/audit.ts';
import { operation } from '../operation.ts';

/** Whether every line of the audit log is what was written. */
export const verifyAudit = operation({
  name: 'verify_audit',
  route: 'GET /audit/verification',
  agents: null,
  tool: null,
  input: z.strictObject({}),
  output: AuditVerdict,
  run: ({ services }) => services.audit.verify(),
});
