import { type ReadonlySignal, signal } from '@preact/signals';

/**
 * Program that answers on our port: the hub of this token, a hub that says the session is over, another program, or
 * nothing.
 */
export type Answering = 'hub' | 'over' | 'stranger' | 'nobody';

const PROOF_TIMEOUT_MS = 10_000;

const strange = signal(false);
const proved = signal(false);
let proving: Promise<Answering> | null = null;
let wasProved = false;
const waiting = new Set<() => void>();

/** True if the last response came from another program than the hub. */
export const isStranger: ReadonlySignal<boolean> = strange;
/** True if the hub has proved its identity and the connection has not broken since. */
export const isProved: ReadonlySignal<boolean> = proved;
/** True if the hub has ever answered this tab. */
export const wasHub = (): boolean => wasProved;

/**
 * Checks what answers on our port before the token is sent: after a hub has exited, another program may have taken its
 * port. A success is cached until there is a sign that the hub may have exited; a failure is not cached.
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

/** Resolves when the hub answers. That may be much later, because the WebSocket retries until then. */
export async function hubAnswers(token: string): Promise<void> {
  if ((await whoAnswers(token)) !== 'hub') await new Promise<void>(settle => waiting.add(settle));
}

/** Called when the connection breaks: the next one may reach another program. */
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
    // Any program can claim this, but the only effect is that the tab drops its token.
    if (value?.error?.code === 'SESSION_OVER') return 'over';
    return value?.proof === (await proofOf(token, nonce, location.host)) ? 'hub' : 'stranger';
  } catch {
    return 'nobody';
  }
}

/**
 * Only the owner of the token can compute this proof. It includes the address, so a program at another address cannot
 * relay it.
 */
export async function proofOf(token: string, nonce: string, host: string): Promise<string> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes(token), algorithm, false, ['sign']);
  return hex(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes(`${nonce} ${host}`))));
}

const hex = (bytes: Uint8Array): string =>
  [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
