import { hash } from 'node:crypto';
import type { Audit, AuditEntry } from '../../core/ports/gateway.ts';
import type { Run } from '../../schema/run.ts';
import type { LongCalls } from '../upstream/call-limit.ts';

const MAX_NAMES = 50;
const MAX_NAME_LENGTH = 100;

export type CallEntry = Pick<AuditEntry, 'server' | 'kind' | 'name' | 'decision' | 'outcome'> &
  Partial<AuditEntry>;

type AskingRun = Pick<Run, 'id' | 'roleId' | 'workspace'> & { options: Pick<Run['options'], 'subagent'> };

/** Writes down what one run asked of other servers. */
export class CallAudit {
  readonly #audit: Audit;
  readonly #run: AskingRun;
  readonly #longCalls: LongCalls;

  constructor(audit: Audit, run: AskingRun, longCalls: LongCalls) {
    this.#audit = audit;
    this.#run = run;
    this.#longCalls = longCalls;
  }

  /** Before something goes out: throws when it might not be written down. Its line is written when it is over. */
  check(): void {
    this.#audit.check();
  }

  /** It goes out now. If it takes long, a line says so before its end does; returns how to say that it is over. */
  begin(entry: CallEntry): () => void {
    return this.#longCalls.begin(() => {
      try {
        this.write(entry);
      } catch {
        // Kept by the log all the same, which says so to whoever asks next.
      }
    });
  }

  write(entry: CallEntry): void {
    const { id: runId, roleId, options, workspace } = this.#run;
    this.#audit.append({ ...entry, runId, roleId, subagent: options.subagent ?? undefined, workspace });
  }
}

/** Types by name, never a value. */
export function argumentShape(args: unknown, redact: (text: string) => string): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return JSON.stringify(typeOf(args));
  const entries = Object.entries(args);
  const shape = entries
    .slice(0, MAX_NAMES)
    .map(([name, value]) => [redact(name).slice(0, MAX_NAME_LENGTH), typeOf(value)]);
  if (entries.length > MAX_NAMES) shape.push(['…', `${entries.length - MAX_NAMES} more`]);
  return JSON.stringify(Object.fromEntries(shape));
}

export const hashOfText = (text: string): string => hash('sha256', text);

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
