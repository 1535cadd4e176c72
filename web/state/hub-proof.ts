import { type ReadonlySignal, signal } from '@preact/signals';

/** The program that answers on our port: the hub of this token, a hub that says the session is over, another program, or none. */
export type Answering = 'hub' | 'over' | 'stranger' | 'nobody';

const PROOF_TIMEOUT_MS = 10_000;

const strange = signal(false);
const proved = signal(false);
let proving: Promise<Answering> | null = null;
let wasProved = false;
const waiting = new Set<() => void>();

/** What answered last was not our hub. */
export const isStranger: ReadonlySignal<boolean> = strange;
/** Our hub has proved itself, and nothing has happened since that makes it doubtful. */
export const isProved: ReadonlySignal<boolean> = proved;
/** Whether our hub has ever answered this page. */
export const wasHub = (): boolean => wasProved;

/**
 * Asked before the token is shown: when a hub has gone, whoever takes its port is sent what was meant for it. A proof holds until
 * there is a sign that the hub may have gone; one that failed is not kept.
 */
export function whoAnswers(token: string): Promise<Answering> {
  const asked = proving ?? ask(token);
  proving = asked;
  void asked.then(found => {
    if (proving === asked) proved.value = found === 'hub';
    if (found === 'hub') {
      wasProved = true;
      for (const go of waiting) go();
      waiting.clear();
    } else if (proving === asked) proving = null;
    strange.value = found === 'stranger';
  });
  return asked;
}

/** Settles when it is the hub that answers, which may be much later: until then somebody asks again and again. */
export async function hubAnswers(token: string): Promise<void> {
  if ((await whoAnswers(token)) !== 'hub') await new Promise<void>(settle => waiting.add(settle));
}

/** The connection broke: the next one may lead to somebody else. */
export function distrustHub(): void {
  proving = null;
  proved.value = false;
}

async function ask(token: string): Promise<Answering> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  try {
    const session = encodeURIComponent(token.split('.', 1)[0]!);
    const answer = await fetch(`/api/proof?session=${session}&nonce=${nonce}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(PROOF_TIMEOUT_MS),
    });
    const value = (await answer.json().catch(() => null)) as {
      proof?: unknown;
      error?: { code?: unknown };
    } | null;
    // Any program can say so: all it gets by that is that the page forgets its token.
    if (value?.error?.code === 'SESSION_OVER') return 'over';
    return value?.proof === (await proofOf(token, nonce, location.host)) ? 'hub' : 'stranger';
  } catch {
    return 'nobody';
  }
}

/** Only who has the token can say this; the address is in it, so that it cannot be fetched from the hub elsewhere and passed on. */
export async function proofOf(token: string, nonce: string, host: string): Promise<string> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes(token), algorithm, false, ['sign']);
  return hex(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes(`${nonce} ${host}`))));
}

const hex = (bytes: Uint8Array): string =>
  [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
