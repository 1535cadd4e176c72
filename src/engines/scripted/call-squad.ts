import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { backOffMs } from '../../base/back-off.ts';
import { agentCall, lastMessage } from '../../schema/agent-protocol.ts';

const Reply = z.object({
  result: z
    .object({ content: z.array(z.object({ text: z.string().optional() })), isError: z.boolean().optional() })
    .optional(),
  error: z.object({ message: z.string() }).optional(),
});

export interface Answer {
  ok: boolean;
  text: string;
}

/** How an agent reaches Squad. */
export interface SquadAccess {
  env: NodeJS.ProcessEnv;
  /** Starts the next hub if the last one was killed. */
  replaceKilledHub(): Promise<void>;
}

/** How long a call waits for an unreachable hub. A question waits longer. */
const HUB_TIMEOUT_MS = 60_000;
export const HUB_BACK_OFF_MS = { first: 100, max: 2_000 };

/**
 * Calls a tool of Squad as this run. A call that no hub received waits for the next hub. Throws if none comes, or if the
 * hub was lost during the call.
 */
export async function callSquad(
  squad: SquadAccess,
  name: string,
  args: Record<string, unknown>,
): Promise<Answer> {
  const { url, token } = requireAddress(squad);
  const until = performance.now() + HUB_TIMEOUT_MS;
  for (let failures = 0; ; await sleep(backOffMs(failures++, HUB_BACK_OFF_MS)))
    try {
      return await callOnce({ url, token }, name, args);
    } catch (thrown) {
      await squad.replaceKilledHub();
      if (!wasRefused(thrown) || performance.now() > until) throw thrown;
    }
}

const wasRefused = (thrown: unknown): boolean =>
  thrown instanceof Error && (thrown.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';

/** Throws if the agent was given no address: then no hub will ever answer. */
export function requireAddress({
  env: { SQUAD_MCP_URL: url, SQUAD_MCP_TOKEN: token },
}: SquadAccess): Address {
  if (url && token) return { url, token };
  throw new Error('Squad cannot be called: this agent was given no address');
}

interface Address {
  url: string;
  token: string;
}

async function callOnce(
  { url, token }: Address,
  name: string,
  args: Record<string, unknown>,
): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    ...agentCall('scripted-agent', token, 'tools/call', { name, arguments: args }),
  });
  const body = await response.text();
  const { result, error } = Reply.safeParse(lastMessage(body)).data ?? {};
  if (result) return { ok: !result.isError, text: result.content.map(({ text = '' }) => text).join('\n') };
  // A hub that answers 503 is stopping, and a new hub may follow.
  if (response.status === 503) throw new Error(`Squad cannot be called: ${error?.message ?? body.trim()}`);
  return { ok: false, text: error?.message ?? `HTTP ${response.status}: ${body.trim().slice(0, 500)}` };
}
