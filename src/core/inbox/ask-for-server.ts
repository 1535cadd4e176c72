import { SquadError } from '../../schema/error.ts';
import type { WithdrawnBecause } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import type { Runner } from '../runs/runner.ts';
import { type Elicited, elicited, formOf } from './elicitation.ts';
import type { Inbox } from './inbox.ts';

/** A call to another server ends after half an hour, and the server still has to do something with the answer. */
const LONGEST_MINUTES = 25;

export interface ServerAsk {
  run: Run;
  server: string;
  params: Record<string, unknown>;
  /** Fires when the server takes its question back, the call it was asked in is over, or the server (`server_gone`). */
  signal: AbortSignal;
}

/** Puts a server's form to whoever answers for the user, where the agent's own client has nobody to ask. */
export async function askForServer(
  { run, server, params, signal }: ServerAsk,
  inbox: Pick<Inbox, 'ask' | 'untilSettled' | 'withdraw' | 'handOut'>,
  runner: Pick<Runner, 'whileWaiting'>,
  usualMinutes: number,
): Promise<Elicited> {
  const form = formOf(params);
  if (form === null) return { action: 'decline' };
  const minutes = Math.min(usualMinutes, LONGEST_MINUTES);
  const item = await inbox.ask({ run, source: server, ...form, minutes }).catch((thrown: unknown) => {
    // It is too long, or too much of it is open: the server is refused, as a person would.
    if (thrown instanceof SquadError) return null;
    throw thrown;
  });
  if (item === null) return { action: 'decline' };
  const settled = await runner.whileWaiting(run.id, () => inbox.untilSettled(item.id, signal));
  if (settled === null) await inbox.withdraw(item.id, whyOver(signal));
  else inbox.handOut(settled);
  return settled === null ? { action: 'cancel' } : elicited(settled);
}

const whyOver = ({ reason }: AbortSignal): WithdrawnBecause =>
  reason === 'server_gone' ? 'server_gone' : 'call_ended';
