import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { visibleLine } from '../../base/text.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { confirmWithUser } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT, exitFor } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { logCommand } from '../output/log.ts';
import { printJson } from '../terminal/json.ts';
import { statusText } from '../terminal/status-text.ts';
import { wrap } from '../terminal/width.ts';
import { untilAnswered } from './follow.ts';

interface TerminalProgram {
  argv: readonly [string, ...string[]];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** It neither reads nor shows anything: only how it ends counts. */
  silent?: boolean;
}

const SILENT_TIMEOUT_MS = 10_000;

/** Gives the terminal to a program until it ends; its exit code, or null when it could not be started or was killed. */
function atTerminal({ argv, cwd, env, silent = false }: TerminalProgram): Promise<number | null> {
  const [program, ...args] = argv;
  // Ctrl-C is the program's to hear, and reaches both.
  const onInterrupt = () => {};
  process.on('SIGINT', onInterrupt);
  return new Promise<number | null>(resolve => {
    const bounds = silent ? { timeout: SILENT_TIMEOUT_MS, killSignal: 'SIGKILL' as const } : {};
    const child = spawn(program, args, { cwd, env, stdio: silent ? 'ignore' : 'inherit', ...bounds });
    child.on('error', () => resolve(null));
    child.on('close', resolve);
  }).finally(() => process.off('SIGINT', onInterrupt));
}

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
    `${run_id} has ended: ${statusText(status)}`,
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
    isOver ? `${id} has ended: ${statusText(status)}` : `${id} goes on: ${statusText(status)}`,
    isOver
      ? `  squad show ${shellWord(id)}   what came of it`
      : `  squad attach ${shellWord(id)}   looks again`,
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
  // First, so that an agent is told that this is not for it.
  const look = await untilAnswered(client => client.call('take_over', { run: given, only_look: true }));
  if (context.json || !context.out.isTTY || !process.stdin.isTTY) throw noTerminal(look);
  if (!existsSync(look.cwd)) throw noFolder(look);
  if (!look.is_over && !yes && !(await isAgreed(look, context))) return EXIT.done;
  const { command } = await HubClient.ask({}, 'take_over', { run: look.run_id });
  const [program, ...args] = command!.argv;
  context.err.write(
    `${context.style.dim(`${look.engine} · chat ${visibleLine(look.chat_id)} · ${visibleLine(look.cwd)}`)}\n`,
  );
  const code = await atTerminal({
    argv: [program!, ...args],
    cwd: look.cwd,
    env: environment(command!.env, look.cwd),
  });
  context.err.write(`${context.style.dim(`Hand it back: squad reply ${shellWord(look.run_id)} "…"`)}\n`);
  return code ?? EXIT.failed;
}

function isAgreed({ run_id, status, engine, cwd }: TakenOver, context: CliContext): Promise<boolean> {
  const notes = [
    `This ends ${run_id} (${statusText(status)}) and what it started, as \`squad cancel\` does; its work stays in ${visibleLine(cwd)}.`,
    `Then ${engine} opens there on the same chat, by its own settings: what it may do is between the two of you.`,
  ];
  for (const line of notes.flatMap(note => wrap(note, context.err.columns))) context.err.write(`${line}\n`);
  return confirmWithUser('Take over?', `squad attach ${shellWord(run_id)} --take-over --yes`, context);
}

/** What says where this terminal is and what it can show; everything else is as the agent had it. */
const OF_THE_TERMINAL =
  /^(TERM|COLORTERM|TERM_PROGRAM(_VERSION)?|TMUX|TMUX_PANE|STY|COLUMNS|LINES|LANG|LC_[A-Z]+|DISPLAY|WAYLAND_DISPLAY|SSH_[A-Z_]+|NO_COLOR|FORCE_COLOR)$/;

function environment(ofAgent: Record<string, string>, cwd: string): NodeJS.ProcessEnv {
  const agents = Object.entries(ofAgent).filter(([name]) => !OF_THE_TERMINAL.test(name));
  const own = Object.entries(process.env).filter(([name]) => OF_THE_TERMINAL.test(name));
  return { ...Object.fromEntries([...agents, ...own]), PWD: cwd };
}

const noTerminal = ({ run_id: id, is_over }: TakenOver): SquadError =>
  new SquadError('INVALID_INPUT', `Taking ${id} over needs a terminal, and this is none`, {
    suggestions: [
      `Without one: ${is_over ? '' : `\`squad cancel ${shellWord(id)}\`, then `}\`squad reply ${shellWord(id)} "…"\`.`,
    ],
  });

const noFolder = ({ run_id, cwd }: TakenOver): SquadError =>
  new SquadError('CWD_MISSING', `The folder of ${run_id} is not there any more: ${cwd}`, {
    suggestions: [`\`squad log ${shellWord(run_id)}\` has what it wrote.`],
  });
