import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Time after which a session without an open tab ends. A session with an open tab lasts as long as the hub. */
export const SESSION_IDLE_MS = 60 * 60_000;
const MAX_SESSIONS = 100;

interface Session {
  token: string;
  host: string;
  /** Number of open live connections. */
  lines: number;
  expiring: NodeJS.Timeout | undefined;
}

/**
 * Browsers that may act for the user. Sessions exist only in memory and end with this hub: after that, a browser's
 * token is worthless to a program that takes the port, and to the next hub.
 */
export class Sessions {
  private readonly sessions = new Map<string, Session>();
  private readonly knownHosts = new Set<string>();

  get size(): number {
    return this.sessions.size;
  }

  /**
   * Opens a session. `isFirst` means that this hub has not admitted a browser at this host before, so that anything
   * stored there came from another program.
   */
  open(host: string): { token: string; isFirst: boolean } {
    const [oldest] = this.sessions.keys();
    if (this.sessions.size >= MAX_SESSIONS) this.end(oldest!);
    const id = randomBytes(9).toString('base64url');
    const session: Session = { token: `${id}.${secret()}`, host, lines: 0, expiring: undefined };
    this.sessions.set(id, session);
    this.touch(id, session);
    const isFirst = !this.knownHosts.has(host);
    this.knownHosts.add(host);
    return { token: session.token, isFirst };
  }

  /** Id of the session that this token opens at this host. */
  admit(token: string, host: string): string | null {
    const id = token.split('.', 1)[0]!;
    const session = this.sessions.get(id);
    if (session?.host !== host || !isSame(session.token, token)) return null;
    this.touch(id, session);
    return id;
  }

  /**
   * Proves to the web UI that this is the hub that admitted it, without sending the token. The proof includes the host,
   * so that another program cannot relay the question to this hub. Null if there is no such session.
   */
  proof(id: string, nonce: string, host: string): string | null {
    const session = this.sessions.get(id);
    if (session?.host !== host) return null;
    return createHmac('sha256', session.token).update(`${nonce} ${host}`).digest('hex');
  }

  /** Keeps a session alive for an open tab, until the returned function is called. */
  hold(id: string): () => void {
    const session = this.sessions.get(id);
    if (!session) return () => {};
    session.lines += 1;
    this.touch(id, session);
    return () => {
      session.lines -= 1;
      this.touch(id, session);
    };
  }

  private touch(id: string, session: Session): void {
    clearTimeout(session.expiring);
    if (this.sessions.get(id) !== session || session.lines > 0) return;
    session.expiring = setTimeout(() => this.end(id), SESSION_IDLE_MS).unref();
  }

  private end(id: string): void {
    clearTimeout(this.sessions.get(id)?.expiring);
    this.sessions.delete(id);
  }
}

const secret = (): string => randomBytes(32).toString('base64url');

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));
