type Id = string | number;

interface Message {
  id?: Id;
  method?: string;
  params?: { requestId?: Id };
}

/** Requests that build up a session: a new hub must hear them again, and the client must not hear the answer twice. */
const SESSION = new Set([
  'initialize',
  'notifications/initialized',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** What passed between client and hub, as far as a new hub or a waiting client needs to know. */
export class Traffic {
  private readonly session: Buffer[] = [];
  private readonly inFlight = new Map<Id, { method: string; line: Buffer }>();
  /** Ids whose next answer is to a replayed line. */
  private readonly answered = new Set<Id>();

  /** How many requests the client still waits for. A stream of notifications is no such request. */
  get open(): number {
    let count = 0;
    for (const { method } of this.inFlight.values()) if (method !== 'subscriptions/listen') count++;
    return count;
  }

  /** True when the replay would bring this line to a new hub, or it means nothing to one. */
  fromClient(line: Buffer): boolean {
    const message = parse(line);
    if (!message) return false;
    if (!message.method) return true;
    if (SESSION.has(message.method)) this.session.push(line);
    if (message.id !== undefined && message.id !== null)
      this.inFlight.set(message.id, { method: message.method, line });
    if (message.method === 'notifications/cancelled' && message.params?.requestId !== undefined)
      this.inFlight.delete(message.params.requestId);
    return true;
  }

  /** False for a line the client must not see. */
  fromHub(line: Buffer): boolean {
    const message = parse(line);
    if (message?.id === undefined || message.method) return true;
    if (this.answered.delete(message.id)) return false;
    this.inFlight.delete(message.id);
    return true;
  }

  /** The lines that bring a new hub to where the old one was. Empty before anything was said. */
  replay(): Buffer[] {
    const lines: Buffer[] = [];
    this.answered.clear();
    for (const line of this.session) {
      const id = parse(line)?.id;
      // An initialize still in flight is answered for the first time by the new hub.
      if (id !== undefined && !this.inFlight.has(id)) this.answered.add(id);
      lines.push(line);
    }
    for (const [, { line }] of this.inFlight) if (!lines.includes(line)) lines.push(line);
    return lines;
  }

  /**
   * The hub is gone. Questions are asked again of the next one; a tool call may have started something, so it is
   * answered here, with how to find what it started.
   */
  hubLost(): string[] {
    const answers: string[] = [];
    for (const [id, { method }] of this.inFlight) {
      if (method !== 'tools/call') continue;
      this.inFlight.delete(id);
      answers.push(`${JSON.stringify({ jsonrpc: '2.0', id, error: RESTARTED })}\n`);
    }
    return answers;
  }
}

const RESTARTED = {
  code: -32000,
  message:
    'HUB_RESTARTED: the hub restarted while this call was waiting. Runs go on: call list_running, then get_result with the id.',
  data: { code: 'HUB_RESTARTED' },
};

function parse(line: Buffer): Message | null {
  try {
    return JSON.parse(line.toString());
  } catch {
    return null; // the hub answers malformed lines; here they are only copied
  }
}
