import type { Trouble } from '../../core/gateway/degradation.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { Json } from '../../wire/upstream/link.ts';
import { Catalogue, type CatalogueOptions, type ListKind } from './catalogue.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import type { PinBook } from './pins.ts';
import { type AskPerson, ServerQuestions } from './server-questions.ts';
import { Upstream, type UpstreamOptions } from './upstream.ts';

const MOST_CALLS = { inAll: 32, ofOneRun: 8 };
/** Nobody else waits for a server that is a run's own, and a program of its model may well ask it fifty things at once. */
const MOST_OWN_CALLS = { inAll: 64, ofOneRun: 64 };

const LIST_CHANGES = new Map<string, ListKind>([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

export interface PooledServerOptions {
  key: string;
  id: string;
  config: Server;
  /** One run's own, by the file that defines it. */
  isOwn: boolean;
  /** For its start; not given: as long as for a request. */
  startMs: number | undefined;
  book: PinBook;
  redactor: Redactor;
  open: UpstreamOptions['open'];
  starts: UpstreamOptions['starts'];
  clock: UpstreamOptions['clock'];
  timers: UpstreamOptions['timers'];
  isFinal: UpstreamOptions['isFinal'];
  onChange(server: PooledServer, what: ListKind): void;
  onTrouble(server: PooledServer, trouble: Trouble, fault: string): void;
  onRefused: CatalogueOptions['onRefused'];
  askPerson: AskPerson | null;
}

/** A server with all that belongs to it: its connection, what it has, who uses it, what is under way. */
export class PooledServer {
  readonly key: string;
  readonly id: string;
  readonly instance: Server['instance'];
  readonly type: 'stdio' | 'http' | 'sse';
  readonly isOwn: boolean;
  readonly redactor: Redactor;
  readonly book: PinBook;
  readonly upstream: Upstream;
  readonly catalogue: Catalogue;
  readonly inFlight: InFlight;
  /** Null: it is shared, so nobody can say whom it asks. */
  readonly questions: ServerQuestions | null;
  readonly users = new Set<RunId>();
  timeoutMs: number;
  cooldownMs: number;
  readonly #startMs: number | undefined;
  /** It turned bad and has not been up since. */
  isOut = false;

  constructor(options: PooledServerOptions) {
    const { config, redactor, book } = options;
    this.key = options.key;
    this.id = options.id;
    this.instance = config.instance;
    this.isOwn = options.isOwn;
    this.type = 'command' in config ? 'stdio' : config.type;
    this.timeoutMs = config.timeout;
    this.cooldownMs = config.cooldown;
    this.#startMs = options.startMs;
    this.redactor = redactor;
    this.book = book;
    this.inFlight = createInFlight(options.isOwn ? MOST_OWN_CALLS : MOST_CALLS, options.timers);
    const questions =
      config.instance === 'shared'
        ? null
        : new ServerQuestions(redactor, () => this.#stray(), options.askPerson);
    this.questions = questions;
    this.catalogue = new Catalogue(book, {
      timeoutMs: () => this.timeoutMs,
      isAlone: config.instance === 'per-agent',
      redactor,
      onChange: what => options.onChange(this, what),
      onRefused: options.onRefused,
    });
    this.upstream = new Upstream({
      timeoutMs: () => this.timeoutMs,
      startMs: () => this.startMs,
      cooldownMs: () => this.cooldownMs,
      open: options.open,
      greet: async link => {
        await this.catalogue.list(link);
        this.isOut = false;
      },
      onDown: wasUp => {
        this.catalogue.withdraw();
        const { health, fault } = this.upstream.condition;
        options.onTrouble(this, wasUp ? 'lost' : health === 'cooling' ? 'failing' : 'absent', fault ?? '');
      },
      onNotification: (method, params) => this.#noted(method, params),
      onRequest:
        questions === null ? undefined : (method, params, signal) => questions.ask(method, params, signal),
      isWanted: () => this.users.size > 0,
      isFinal: options.isFinal,
      redact: redactor.text,
      starts: options.starts,
      clock: options.clock,
      timers: options.timers,
    });
  }

  get startMs(): number {
    return this.#startMs ?? this.timeoutMs;
  }

  get workspace(): string {
    return this.book.key.workspace;
  }

  /** What is pinned of it is known at once; then it is started. Settles, never rejects, when it is up or known not to be. */
  async warm(): Promise<void> {
    // A store that cannot be read makes the start fail as well, and there it is told.
    await this.catalogue.load().catch(() => {});
    await this.upstream.start();
  }

  #noted(method: string, params: Json): void {
    const what = LIST_CHANGES.get(method);
    if (what !== undefined) this.catalogue.relist(what);
    else if (method === 'notifications/message' && this.questions !== null)
      this.questions.tell(method, params);
    else this.#stray();
  }

  #stray(): void {
    this.upstream.stray += 1;
  }
}
