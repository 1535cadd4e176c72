import type { Output } from '../../operations/operations.ts';
import { isEnd } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { logCommand } from '../output/log.ts';
import { printJson } from '../terminal/json.ts';
import { statusWord } from '../terminal/status-word.ts';
import { wrap } from '../terminal/wrap.ts';
import { atTerminal } from './at-terminal.ts';
import { untilAnswered } from './until-answered.ts';

type Opened = Output<'open_session'>;

/** `squad attach RUN`: the window of a run at work, in tmux; where that cannot be, its log, and why. */
export async function attachCommand(given: string, context: CliContext): Promise<number> {
  const opened = await untilAnswered(client => client.call('open_session', { run: given }));
  const { run_id, session_name, is_over } = opened;
  if (context.json) {
    printJson(context.out, opened);
    return EXIT.done;
  }
  if (is_over) return showOver(opened, context);
  const why = await notInTmux(session_name, context);
  if (why !== null) {
    const note = `${run_id}: its log, because ${why}. Ctrl-C leaves; it goes on.`;
    for (const line of wrap(note, context.err.columns)) context.err.write(`${context.style.dim(line)}\n`);
    return logCommand(run_id, { follow: true }, context);
  }
  const isInside = Boolean(process.env.TMUX);
  const code = await atTerminal({
    argv: ['tmux', isInside ? 'switch-client' : 'attach-session', '-t', `=${session_name}`],
  });
  if (isInside && code === 0) return EXIT.done;
  return showHowItIs(run_id, context);
}

/** Null: the session can be shown on this terminal. */
async function notInTmux(name: string | null, { out }: CliContext): Promise<string | null> {
  if (!out.isTTY || !process.stdin.isTTY) return 'this is not a terminal';
  if (name === null) return 'there is no tmux, or tmux.sessions is off';
  // The hub's environment may mean another server than this terminal's.
  const code = await atTerminal({ argv: ['tmux', 'has-session', '-t', `=${name}`], silent: true });
  return code === 0 ? null : `its tmux session ${name} is not on the server of this terminal`;
}

function showOver({ run_id, status, goes_on_by }: Opened, context: CliContext): number {
  print(context, [
    `${run_id} has ended: ${statusWord(status)}`,
    `  squad log ${shellWord(run_id)}   what it wrote`,
    ...(goes_on_by?.reply ? [`  squad reply ${shellWord(run_id)} "…"   goes on with its chat`] : []),
    ...(goes_on_by?.take_over
      ? [`  squad attach ${shellWord(run_id)} --take-over   you go on with it yourself`]
      : []),
  ]);
  return EXIT.done;
}

async function showHowItIs(id: string, context: CliContext): Promise<number> {
  const { runs } = await HubClient.ask({}, 'find_runs', { ids: [id] });
  const run = runs[0]!;
  const status = shownStatus(run);
  const isOver = isEnd(run.status);
  print(context, [
    isOver ? `${id} has ended: ${statusWord(status)}` : `${id} goes on: ${statusWord(status)}`,
    isOver
      ? `  squad show ${shellWord(id)}   what came of it`
      : `  squad attach ${shellWord(id)}   looks again`,
  ]);
  return isOver ? exitFor([status]) : EXIT.done;
}
