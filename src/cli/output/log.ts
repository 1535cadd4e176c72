import { setTimeout as sleep } from 'node:timers/promises';
import { visibleText, withoutColours } from '../../base/text.ts';
import type { RunStatus } from '../../schema/run.ts';
import type { CliContext } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { HubClient, HubGone } from '../hub-client.ts';
import { reconnectToHub } from '../runs/follow.ts';
import { printJson } from '../terminal/json.ts';
import type { Terminal } from '../terminal/terminal.ts';

export interface LogOptions {
  follow?: boolean;
  raw?: boolean;
  /**
   * True for `squad log` in the window of a tmux session. It must not start a hub, which would get the environment of
   * the window, and it must not exit early, which would end the session.
   */
  window?: boolean;
}

interface Page {
  status: RunStatus;
  isOver: boolean;
  lastTurn: number;
  text: string;
  nextOffset: number;
  size: number;
}

const POLL_MS = 150;

const WAITS: Partial<Record<RunStatus, string>> = {
  waiting_review: 'waiting for review',
  waiting_children: 'waiting for child runs',
  waiting_limit: 'waiting for the usage limit of its engine',
};
/**
 * How long the window stays after the end of the run. The hub closes the session earlier, and returns its tmux clients
 * to their previous session.
 */
const WINDOW_STAYS_MS = 15_000;

/** `squad log RUN`: copies the output of an agent to the matching streams; with -f until it ends. */
export async function logCommand(
  id: string,
  { follow, raw, window }: LogOptions,
  context: CliContext,
): Promise<number> {
  if (window) stayOpen(context.err);
  const onWait = () => context.err.write('\n— waiting for the hub —\n');
  const connect = () => (window ? reconnectToHub(onWait) : HubClient.start());
  let client = await connect();
  const at = { turn: 1, stdout: 0, stderr: 0 };
  const screens = {
    stdout: new OutputText(context.out, raw === true),
    stderr: new OutputText(context.err, raw === true),
  };
  let isWaiting = false;
  try {
    if (context.json) return await logJson(client, id, context);
    for (;;) {
      try {
        const { status, over, hasNext } = await copyNew(client, id, at, screens, raw === true);
        if (hasNext || over || !follow) for (const screen of Object.values(screens)) screen.end();
        if (hasNext) {
          Object.assign(at, { turn: at.turn + 1, stdout: 0, stderr: 0 });
          context.err.write(`\n— turn ${at.turn} —\n`);
          continue;
        }
        if (!follow) return EXIT.done;
        if (over) {
          if (window) await sleep(WINDOW_STAYS_MS);
          return exitFor([over]);
        }
        const waits = status && WAITS[status];
        if (waits && !isWaiting) context.err.write(`\n— ${waits} —\n`);
        isWaiting = waits !== undefined;
      } catch (thrown) {
        if (!(thrown instanceof HubGone) || !follow) throw thrown;
        client = await connect();
      }
      await sleep(POLL_MS);
    }
  } finally {
    client.close();
  }
}

/** Ignores Ctrl-C: it must not close the window, which others may share, while the run continues. */
function stayOpen(err: Terminal): void {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const)
    process.on(signal, () =>
      err.write('\n— the run continues; to detach, press your tmux prefix (default: Ctrl-b), then d —\n'),
    );
}

interface Place {
  turn: number;
  stdout: number;
  stderr: number;
}

/**
 * Copies new output of both streams of a turn. Also returns whether the run has ended or started another turn, which
 * makes this turn complete. The first page decides that: if the turn had ended before that page was read, the pages
 * after it contain the rest.
 */
async function copyNew(client: HubClient, id: string, at: Place, screens: Screens, raw: boolean) {
  let first: Page | null = null;
  for (const stream of ['stdout', 'stderr'] as const) {
    for (;;) {
      const page = await client.call('read_output', {
        run: id,
        turn: at.turn,
        stream,
        offset: at[stream],
        readable: !raw,
      });
      screens[stream].write(page.text);
      const moved = page.nextOffset > at[stream];
      at[stream] = page.nextOffset;
      first ??= page;
      if (!moved || page.nextOffset >= page.size) break;
    }
  }
  return {
    status: first?.status,
    over: first?.isOver ? first.status : null,
    hasNext: (first?.lastTurn ?? 1) > at.turn,
  };
}

type Screens = Record<'stdout' | 'stderr', OutputText>;

/** The beginning of a colour sequence or a line end, whose rest may come with the next page. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters
const UNFINISHED = /(?:\r|\u001b(?:\[[\d;:]{0,60})?)$/;

/** A pipe gets the bytes; a terminal gets the text without colours and with every other control sequence made visible. */
class OutputText {
  private readonly terminal: Terminal;
  private readonly isRaw: boolean;
  private held = '';

  constructor(terminal: Terminal, raw: boolean) {
    this.terminal = terminal;
    this.isRaw = raw || !terminal.isTTY;
  }

  write(text: string): void {
    const all = this.held + text;
    this.held = this.isRaw ? '' : (UNFINISHED.exec(all)?.[0] ?? '');
    const ready = all.slice(0, all.length - this.held.length);
    if (ready !== '') this.terminal.write(this.isRaw ? ready : visibleText(withoutColours(ready)));
  }

  end(): void {
    if (this.held !== '') this.terminal.write(visibleText(this.held));
    this.held = '';
  }
}

async function logJson(client: HubClient, id: string, { out }: CliContext): Promise<number> {
  const [stdout, stderr] = await Promise.all(
    (['stdout', 'stderr'] as const).map(stream =>
      client.call('read_output', { run: id, stream, offset: -256 * 1024 }),
    ),
  );
  printJson(out, {
    runId: stdout!.runId,
    status: stdout!.status,
    stdout: { text: stdout!.text, bytes: stdout!.size },
    stderr: { text: stderr!.text, bytes: stderr!.size },
  });
  return EXIT.done;
}
