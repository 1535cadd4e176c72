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
  /** The bytes as the agent wrote them. */
  raw?: boolean;
  /**
   * In a window that nobody asked for: it must not start a hub, which would be one with the window's environment, and its end
   * would be that of the session.
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

const LOOK_EVERY_MS = 150;
/** The hub ends the session before that, and takes its clients back to where they were. */
const WINDOW_STAYS_MS = 15_000;

/** `squad log RUN`: what the agent wrote, to the matching streams; with -f until it ends. */
export async function logCommand(
  id: string,
  { follow, raw, window }: LogOptions,
  context: CliContext,
): Promise<number> {
  if (window) stayOpen(context.err);
  const tellWait = () => context.err.write('\n— waits for the hub —\n');
  const reach = () => (window ? reconnectToHub(tellWait) : HubClient.start());
  let client = await reach();
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
        if (status === 'waiting_review' && !isWaiting) context.err.write('\n— waits for its review —\n');
        isWaiting = status === 'waiting_review';
      } catch (thrown) {
        if (!(thrown instanceof HubGone) || !follow) throw thrown;
        client = await reach();
      }
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    client.close();
  }
}

/** What stops a program at a terminal must not take the window away from everybody while the run goes on. */
function stayOpen(err: Terminal): void {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const)
    process.on(signal, () =>
      err.write('\n— the run goes on; your tmux prefix (Ctrl-b, unless you changed it), then d leaves —\n'),
    );
}

interface Place {
  turn: number;
  stdout: number;
  stderr: number;
}

/**
 * Copies what both streams of a turn have beyond `at`; tells whether the run is over, or has gone on to another turn, and
 * all of this one is out. The first page decides: had that been so before it was read, the pages after it hold all there is.
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

/** The beginning of a colour or of a line end, whose rest may come with the next page. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what is looked for
const UNFINISHED = /(?:\r|\u001b(?:\[[\d;:]{0,60})?)$/;

/** A pipe gets the bytes; a terminal gets the text without colours, with every other sequence shown. */
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
