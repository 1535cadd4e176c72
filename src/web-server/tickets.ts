import { randomBytes } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { OutputStream } from '../core/ports/run-files.ts';
import type { Caller } from '../core/ports/workspace.ts';
import type { Operation } from '../operations/operation.ts';
import type { RunId } from '../schema/ids.ts';
import { HttpProblem } from './http-problem.ts';

/** Purpose of a ticket. Only the user gets tickets, so a request with one acts as the user, for this purpose only. */
export type Errand =
  | { purpose: 'live'; session: string | null }
  | { purpose: 'download'; runId: RunId; turn: number; stream: OutputStream }
  | { purpose: 'export'; runId: RunId; caller: Caller }
  /** Opens a session for one browser, at this host only. */
  | { purpose: 'open'; host: string };

/** Lifetimes: programs use a ticket at once, but a printed address is opened by a person. */
export const TICKET_MS = { live: 30_000, download: 30_000, export: 30_000, open: 600_000 } as const;
const MAX_TICKETS = 1_000;

interface Issued {
  errand: Errand;
  /** Expiry time, on the monotonic clock. */
  until: number;
  expiring: NodeJS.Timeout;
}

/** Secrets for addresses. Addresses end up in histories and process lists, so each ticket works once, for one purpose and a short time. */
export class Tickets {
  private readonly issued = new Map<string, Issued>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get size(): number {
    return this.issued.size;
  }

  issue(errand: Errand): { ticket: string; expiresAt: number } {
    const [oldest] = this.issued.keys();
    if (this.issued.size >= MAX_TICKETS) this.forget(oldest!);
    const ticket = randomBytes(32).toString('base64url');
    const durationMs = TICKET_MS[errand.purpose];
    const expiring = setTimeout(() => this.forget(ticket), durationMs).unref();
    this.issued.set(ticket, { errand, until: this.clock.monotonic() + durationMs, expiring });
    return { ticket, expiresAt: this.clock.now() + durationMs };
  }

  /** Uses up a ticket. Null if it is unknown, used, expired, or for another purpose. */
  redeem<P extends Errand['purpose']>(
    ticket: string,
    ...purposes: P[]
  ): Extract<Errand, { purpose: P }> | null {
    const found = this.find(ticket, ...purposes);
    this.forget(ticket);
    return found;
  }

  /** Like `redeem`, but the ticket stays valid. */
  find<P extends Errand['purpose']>(
    ticket: string,
    ...purposes: P[]
  ): Extract<Errand, { purpose: P }> | null {
    const found = this.issued.get(ticket);
    if (
      !found ||
      found.until <= this.clock.monotonic() ||
      !purposes.some(purpose => purpose === found.errand.purpose)
    )
      return null;
    return found.errand as Extract<Errand, { purpose: P }>;
  }

  private forget(ticket: string): void {
    clearTimeout(this.issued.get(ticket)?.expiring);
    this.issued.delete(ticket);
  }
}

const PURPOSES = ['live', 'download', 'export'] as const;
type Purpose = (typeof PURPOSES)[number];

type Ask = (operation: string, input: unknown) => Promise<unknown>;

/** Fields that each kind of ticket accepts. */
const FIELDS: Readonly<Record<Purpose, readonly string[]>> = {
  live: [],
  download: ['run', 'turn', 'stream'],
  export: ['run'],
};

/** Reads the body of `POST /api/ticket`. The run is looked up now, so that an unknown run fails this request. */
export async function errandOf(
  body: Record<string, unknown>,
  { caller, session }: { caller: Caller; session: string | null },
  ask: Ask,
): Promise<Errand> {
  const { purpose: wanted, ...rest } = body;
  const purpose = PURPOSES.find(each => each === wanted);
  if (!purpose) throw new HttpProblem(400, 'INVALID_INPUT', 'purpose must be live, download or export');
  const unknown = Object.keys(rest).find(field => !FIELDS[purpose].includes(field));
  if (unknown !== undefined)
    throw new HttpProblem(
      400,
      'INVALID_INPUT',
      `A ticket for ${purpose} does not accept ${unknown.slice(0, 40)}`,
    );
  if (purpose === 'live') return { purpose, session };
  if (purpose === 'export') {
    const { run } = (await ask('show_run', rest)) as { run: { id: RunId } };
    return { purpose, runId: run.id, caller };
  }
  const found = (await ask('read_output', { ...rest, limit: 1 })) as OutputFound;
  if (found.turn > found.lastTurn)
    throw new HttpProblem(404, 'INVALID_INPUT', `${found.runId} has no turn ${found.turn}`, [
      `Its last turn is ${found.lastTurn}.`,
    ]);
  const { runId, turn } = found;
  return { purpose, runId, turn, stream: rest.stream === 'stderr' ? 'stderr' : 'stdout' };
}

interface OutputFound {
  runId: RunId;
  turn: number;
  lastTurn: number;
}

export const named = (operations: readonly Operation[], name: string): Operation =>
  operations.find(operation => operation.name === name)!;
