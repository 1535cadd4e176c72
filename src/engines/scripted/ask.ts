import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { backOffMs } from '../../base/back-off.ts';
import { type Answer, callSquad, HUB_BACK_OFF_MS, requireAddress, type SquadAccess } from './call-squad.ts';

const Told = z.object({ status: z.string(), id: z.string(), answer: z.string().nullable() });

/** Parses `"question" "choice" "choice"`. Text without quotes is a question without choices. */
export function questionIn(words: string): { question: string; choices?: string[] } {
  if (!words.startsWith('"')) return { question: words };
  const [question = '', ...choices] = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  return { question, ...(choices.length > 0 && { choices }) };
}

/**
 * Asks the user and waits for the answer. A hub that is gone is waited for as long as the turn may last, because the next
 * one knows the question.
 */
export async function ask(squad: SquadAccess, words: string): Promise<Answer> {
  requireAddress(squad);
  let args: Record<string, unknown> = questionIn(words);
  for (let failures = 0; ; ) {
    const reply = await callSquad(squad, 'ask_user', args).catch(() => null);
    if (reply === null) {
      await sleep(backOffMs(failures++, HUB_BACK_OFF_MS));
      continue;
    }
    failures = 0;
    if (!reply.ok) return reply;
    const { status, id, answer } = Told.parse(JSON.parse(reply.text));
    if (status !== 'waiting') return { ok: true, text: answer ?? `(${status})` };
    args = { id };
  }
}
