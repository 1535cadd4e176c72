import type { AuditRecord, AuditVerdict } from '../../schema/audit.ts';
import type { RunId } from '../../schema/ids.ts';

export interface AuditFilter {
  runId?: RunId;
  deniedOnly?: boolean;
  limit: number;
}

export interface AuditPage {
  /** The newest that match, oldest first. */
  entries: AuditRecord[];
  /** Lines met on the way that are none of ours. */
  unreadable: number;
}

/** The audit log as people read it. */
export interface AuditTrail {
  /** Every line of every file, against the one before. */
  verify(): Promise<AuditVerdict>;
  entries(filter: AuditFilter): Promise<AuditPage>;
}
