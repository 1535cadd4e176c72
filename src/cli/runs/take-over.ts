import { existsSync } from 'node:fs';
import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { SquadError } from '../../schema/error.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { agreed } from '../agreed.ts';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { statusWord } from '../terminal/status-word.ts';
import { wrap } from '../terminal/wrap.ts';
import { atTerminal } from './at-terminal.ts';
import { untilAnswered } from './until-answered.ts';

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
    `This ends ${run_id} (${statusWord(status)}) and what it started, as \`squad cancel\` does; its work stays in ${visibleLine(cwd)}.`,
    `Then ${engine} opens there on the same chat, by its own settings: what it may do is between the two of you.`,
  ];
  for (const line of notes.flatMap(note => wrap(note, context.err.columns))) context.err.write(`${line}\n`);
  return agreed('Take over?', `squad attach ${shellWord(run_id)} --take-over --yes`, context);
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
