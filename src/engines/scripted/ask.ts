import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Answer, callSquad, HUB_TIMEOUT_MS, type SquadAccess } from './call-squad.ts';

const Told = z.object({ status: z.string(), id: z.string(), answer: z.string().nullable() });

/** Parses `"question" "choice" "choice"`. Text without quotes is a question without choices. */
export function questionIn(words: string): { question: string; choices?: string[] } {
  if (!words.startsWith('"')) return { question: words };
  const [question = '', ...choices] = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  return { question, ...(choices.length > 0 && { choices }) };
}

/** Asks the user and waits for the answer. If the hub restarts meanwhile, it asks again. */
export async function ask(squad: SquadAccess, words: string): Promise<Answer> {
  let args: Record<string, unknown> = questionIn(words);
  for (let until = performance.now() + HUB_TIMEOUT_MS; ; ) {
    const reply = await callSquad(squad, 'ask_user', args).catch(async (thrown: unknown) => {
      if (performance.now() > until) throw thrown;
      await sleep(100);
      return null;
    });
    if (reply === null) continue;
    if (!reply.ok) return reply;
    const { status, id, answer } = Told.parse(JSON.parse(reply.text));
    if (status !== 'waiting') return { ok: true, text: answer ?? `(${status})` };
    args = { id };
    until = performance.now() + HUB_TIMEOUT_MS;
  }
}
