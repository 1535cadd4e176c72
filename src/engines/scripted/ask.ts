import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Answer, callSquad } from './call-squad.ts';

const Told = z.object({ status: z.string(), id: z.string(), answer: z.string().nullable() });

/** How long a Squad that is not there is waited for. */
const HUB_TIMEOUT_MS = 60_000;

/** `"question" choice "another choice"`: without quotes all of it is the question. */
export function questionIn(words: string): { question: string; choices?: string[] } {
  if (!words.startsWith('"')) return { question: words };
  const [question = '', ...choices] = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  );
  return { question, ...(choices.length > 0 && { choices }) };
}

/** Puts a question to whoever answers for the user, and waits as long as it takes. A hub that goes is asked again when it is back. */
export async function ask(env: NodeJS.ProcessEnv, words: string): Promise<Answer> {
  let args: Record<string, unknown> = questionIn(words);
  for (let until = performance.now() + HUB_TIMEOUT_MS; ; ) {
    const reply = await callSquad(env, 'ask_user', args).catch(async (thrown: unknown) => {
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
