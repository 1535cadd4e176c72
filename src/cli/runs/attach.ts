import { type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { confirmWithUser } from '../arguments.ts';
import { type CliContext, print, printNotes, printResult } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { logCommand } from '../output/log.ts';
import { withOwnCommand } from '../own-command.ts';
import { statusText } from '../terminal/status-text.ts';
import { wrap } from '../terminal/width.ts';
import { untilAnswered } from './follow.ts';

/** Gives the terminal to a program until it ends. Returns its exit code. Null if it did not start or was killed. */
function runInTerminal(argv: readonly string[], options: SpawnOptions = {}): Promise<number | null> {
  const [program, ...args] = argv;
  // Ctrl-C reaches both processes, but only the other program should react.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise<number | null>(resolve => {
    const child = spawn(program!, args, { stdio: 'inherit', ...options });
    child.on('error', () => resolve(null));
    child.on('close', resolve);
  }).finally(() => process.off('SIGINT', ignore));
}

const TMUX_CHECK = { stdio: 'ignore', timeout: 10_000, killSignal: 'SIGKILL' } as const;

type Opened = Output<'open_session'>;

/** `squad attach RUN`: shows a running agent in its tmux session; if that is impossible, its log and the reason. */
export async function attachCommand(given: string, context: CliContext): Promise<number> {
  const opened = await untilAnswered(client => client.call('open_session', { run: given }));
  const { run_id, session_name, is_over } = opened;
  if (context.json || is_over) return printResult(context, opened, () => endedLines(opened));
  const reason = await whyNotInTmux(session_name, context);
  if (reason !== null) {
    printNotes(
      context,
      [`${run_id}: showing its log, because ${reason}. Ctrl-C leaves; the run continues.`],
      'dim',
    );
    return logCommand(run_id, { follow: true }, context);
  }
  const isInside = Boolean(process.env.TMUX);
  const code = await runInTerminal([
    'tmux',
    isInside ? 'switch-client' : 'attach-session',
    '-t',
    `=${session_name}`,
  ]);
  if (isInside && code === 0) return EXIT.done;
  return showCurrentState(run_id, context);
}

/** Why the session cannot be shown in this terminal. Null if it can. */
async function whyNotInTmux(name: string | null, { out }: CliContext): Promise<string | null> {
  if (!out.isTTY || !process.stdin.isTTY) return 'this is not a terminal';
  if (name === null) return 'tmux is not installed, or tmux.sessions is off';
  // The hub may use another tmux server than this terminal.
  const code = await runInTerminal(['tmux', 'has-session', '-t', `=${name}`], TMUX_CHECK);
  return code === 0 ? null : `its tmux session ${name} is on another tmux server`;
}

function endedLines({ run_id, status, goes_on_by }: Opened): string[] {
  const lines = [
    `${run_id} has ended: ${statusText(status)}`,
    `  squad log ${shellWord(run_id)}   shows its output`,
    ...(goes_on_by?.reply ? [`  squad reply ${shellWord(run_id)} "…"   continues its chat`] : []),
    ...(goes_on_by?.take_over
      ? [`  squad attach ${shellWord(run_id)} --take-over   lets you continue it yourself`]
      : []),
  ];
  return lines.map(line => withOwnCommand(line));
}

async function showCurrentState(id: string, context: CliContext): Promise<number> {
  const { runs } = await HubClient.ask({}, 'find_runs', { ids: [id] });
  const run = runs[0]!;
  const status = shownStatus(run);
  const isOver = isEnd(run.status);
  print(context, [
    isOver ? `${id} has ended: ${statusText(status)}` : `${id} continues: ${statusText(status)}`,
    withOwnCommand(
      isOver
        ? `  squad show ${shellWord(id)}   shows the result`
        : `  squad attach ${shellWord(id)}   attaches again`,
    ),
  ]);
  return isOver ? exitFor([status]) : EXIT.done;
}

type TakenOver = Output<'take_over'>;

/** `squad attach RUN --take-over`: ends the run and opens its agent's own interactive mode on the chat. */
export async function takeOverCommand(
  given: string,
  { yes }: { yes?: boolean },
  context: CliContext,
): Promise<number> {
  // The permission is checked before anything else, so that an agent is refused with the right reason.
  const check = await untilAnswered(client => client.call('take_over', { run: given, only_look: true }));
  if (context.json || !context.out.isTTY || !process.stdin.isTTY) throw noTerminal(check);
  if (!existsSync(check.cwd)) throw noFolder(check);
  if (!check.is_over && !yes && !(await confirmTakeOver(check, context))) return EXIT.done;
  const { command } = await HubClient.ask({}, 'take_over', { run: check.run_id });
  printNotes(context, [`${check.engine} · chat ${check.chat_id} · ${check.cwd}`], 'dim');
  const code = await runInTerminal(command!.argv, {
    cwd: check.cwd,
    env: environment(command!.env, check.cwd),
  });
  printNotes(context, [`Hand it back: squad reply ${shellWord(check.run_id)} "…"`], 'dim');
  return code ?? EXIT.failed;
}

function confirmTakeOver({ run_id, status, engine, cwd }: TakenOver, context: CliContext): Promise<boolean> {
  const notes = [
    withOwnCommand(
      `This stops ${run_id} (${statusText(status)}) and everything it started, like \`squad cancel\`. Its work stays in ${visibleLine(cwd)}.`,
    ),
    `Then ${engine} opens there on the same chat with your own settings; Squad no longer limits what it may do.`,
  ];
  for (const line of notes.flatMap(note => wrap(note, context.err.columns))) context.err.write(`${line}\n`);
  return confirmWithUser('Take over?', `squad attach ${shellWord(run_id)} --take-over --yes`, context);
}

/** Variables that describe this terminal; the agent's own environment provides all others. */
const TERMINAL_VARIABLE =
  /^(TERM|COLORTERM|TERM_PROGRAM(_VERSION)?|TMUX|TMUX_PANE|STY|COLUMNS|LINES|LANG|LC_[A-Z]+|DISPLAY|WAYLAND_DISPLAY|SSH_[A-Z_]+|NO_COLOR|FORCE_COLOR)$/;

function environment(agentEnv: Record<string, string>, cwd: string): NodeJS.ProcessEnv {
  const agents = Object.entries(agentEnv).filter(([name]) => !TERMINAL_VARIABLE.test(name));
  const own = Object.entries(process.env).filter(([name]) => TERMINAL_VARIABLE.test(name));
  return { ...Object.fromEntries([...agents, ...own]), PWD: cwd };
}

const noTerminal = ({ run_id: id, is_over }: TakenOver): SquadError =>
  new SquadError('INVALID_INPUT', `Taking over ${id} needs an interactive terminal`, {
    suggestions: [
      `Without an interactive terminal, use ${is_over ? '' : `\`squad cancel ${shellWord(id)}\`, then `}\`squad reply ${shellWord(id)} "…"\`.`,
    ],
  });

const noFolder = ({ run_id, cwd }: TakenOver): SquadError =>
  new SquadError('CWD_MISSING', `The folder of ${run_id} no longer exists: ${cwd}`, {
    suggestions: [`\`squad log ${shellWord(run_id)}\` shows its output.`],
  });
