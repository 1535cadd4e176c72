import type { Timers } from '../../base/timers.ts';
import { exposedName } from '../../core/gateway/tool-names.ts';
import { decision, type UseDecision } from '../../core/policy.ts';
import type { RunId } from '../../schema/ids.ts';
import type { CallAudit, CallEntry } from './call-audit.ts';
import type { RunServers } from './run-servers.ts';

const MAX_NAME_LENGTH = 300;

/** Stands for all of them when an agent asks for very many. */
const MORE = '(more names)';

interface DenialsOptions {
  runId: RunId;
  servers: RunServers;
  audit: CallAudit;
  tally: DenialCounter;
  onDenied(name: string, count: number): void;
}

export type AskedKind = 'tool' | 'resource' | 'prompt' | 'completion';

/** Writes down what a run asked for and has not. To the run it is as if there were no such thing. */
export class Denials {
  readonly #servers: RunServers;
  readonly #options: DenialsOptions;

  constructor(options: DenialsOptions) {
    this.#options = options;
    this.#servers = options.servers;
  }

  /** `own`: the server's name for it, as far as the asked name tells. */
  deny(kind: AskedKind, asked: string, guess: { server: string; own: string } | null): null {
    const own = guess && this.#ownName(kind, asked, guess);
    const { server, outcome } = this.#why(kind, guess && { ...guess, own: own ?? guess.own });
    const name = (own ?? asked).slice(0, MAX_NAME_LENGTH);
    this.#write(asked.slice(0, MAX_NAME_LENGTH), { server, kind, name, decision: 'denied', outcome });
    return null;
  }

  /** What to tell the agent of a call of a tool that it has; null: nothing but that there is no such tool. */
  denyCall(
    asked: string,
    { server, own }: { server: string; own: string },
    why: Extract<UseDecision, { allowed: false }>,
  ): string | null {
    if (why.reason !== 'argument') return this.deny('tool', asked, { server, own });
    this.#write(asked, { server, kind: 'tool', name: own, decision: 'denied', outcome: 'argument_rule' });
    // The tool is there for it to see, so its rules need not be hidden; the value that broke one is not repeated.
    return `The call was refused: the argument "${why.argument}" breaks the rule "${why.rule}" that is set for ${asked}. The server was not asked.`;
  }

  /** Throws when it might not be written down. */
  #write(asked: string, entry: CallEntry): void {
    const { runId, audit, tally, onDenied } = this.#options;
    audit.check();
    const tell = (name: string, entry: CallEntry) => (count: number) => {
      audit.write({ ...entry, ...(count > 1 && { count }) });
      onDenied(name, count);
    };
    tally.count(
      runId,
      JSON.stringify([entry.kind, asked, entry.outcome]),
      tell(asked, entry),
      tell(MORE, { ...entry, server: null, name: MORE, outcome: 'unknown' }),
    );
  }

  /** Of a server that there is; a shortened name is looked for among those it was made from. */
  #ownName(kind: AskedKind, asked: string, { server, own }: { server: string; own: string }): string | null {
    if (!this.#servers.isKnown(server)) return null;
    const pins = kind === 'tool' ? this.#servers.of(server)?.pooled?.book.pins : null;
    return pins?.find(({ name }) => exposedName(server, name) === asked)?.name ?? own;
  }

  #why(
    kind: AskedKind,
    guess: { server: string; own: string } | null,
  ): { server: string | null; outcome: string } {
    if (guess === null) return { server: null, outcome: 'unknown' };
    const isWaiting =
      kind === 'tool' &&
      this.#servers.of(guess.server)?.pooled?.book.pins?.some(pin => pin.name === guess.own) === true;
    const may = decision(this.#servers.holder, 'use', {
      kind: kind === 'completion' ? 'prompt' : kind,
      server: guess.server,
      name: guess.own,
      isApproved: !isWaiting,
    });
    return { server: guess.server, outcome: may.allowed ? 'unknown' : may.reason };
  }
}

const WINDOW_MS = 1_000;
/** Of one run at a time; what more of them it asks for is told together. */
const MAX_NAMES = 200;
const OTHER_NAMES = '';

/** One thing that was denied, told at once and then once for each second in which it was denied again. */
interface Told {
  again: number;
  tell(count: number): void;
}

/** Keeps an agent that asks for the same thing over and over from filling the disk. Every denial is counted: the counts of all that was told add up. */
export class DenialCounter {
  readonly #timers: Timers;
  readonly #runs = new Map<RunId, Map<string, Told>>();
  #isWaiting = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** `tellMore` is for whatever there are too many names of. Throws what the telling throws. */
  count(runId: RunId, name: string, tell: (count: number) => void, tellMore: (count: number) => void): void {
    const names = this.#namesOf(runId);
    const isNamed = names.has(name) || names.size < MAX_NAMES;
    const key = isNamed ? name : OTHER_NAMES;
    const told = names.get(key);
    if (told !== undefined) {
      told.again += 1;
      return;
    }
    const teller = isNamed ? tell : tellMore;
    names.set(key, { again: 0, tell: teller });
    teller(1);
  }

  /** Tells what was not told yet. */
  flush(): void {
    for (const [runId, names] of this.#runs) {
      for (const [name, told] of names) {
        const count = told.again;
        told.again = 0;
        if (count === 0) names.delete(name);
        else quietly(() => told.tell(count));
      }
      if (names.size === 0) this.#runs.delete(runId);
    }
  }

  #namesOf(runId: RunId): Map<string, Told> {
    let names = this.#runs.get(runId);
    if (names === undefined) {
      names = new Map();
      this.#runs.set(runId, names);
    }
    this.#wait();
    return names;
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#timers.after(WINDOW_MS, () => {
      this.#isWaiting = false;
      this.flush();
      if (this.#runs.size > 0) this.#wait();
    });
  }
}

/** A log that cannot be written keeps what it was given, and says so to whoever asks next. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {}
}
