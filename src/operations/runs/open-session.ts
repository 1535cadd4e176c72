import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { isEnd, type Run, RunStatus } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation } from '../operation.ts';
import { findRun } from './find-runs.ts';
import { canBeTakenOver, interactiveCommand } from './take-over.ts';

/** Opens the tmux session of a run that has not ended. */
export const openSession = operation({
  name: 'open_session',
  route: 'POST /runs/{run}/session',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run_id: z.string(),
    status: RunStatus,
    is_over: z.boolean(),
    /** Null: there is no tmux, it is switched off, or the run has ended. */
    session_name: z.string().nullable(),
    /** How an ended run can be continued; null: it has not ended. */
    goes_on_by: z.object({ reply: z.boolean(), take_over: z.boolean() }).nullable(),
  }),
  async run(call, { run: given }) {
    const { services } = call;
    const run = await findRun(services, given);
    const isOver = isEnd(run.status);
    const about = { run_id: run.id, status: run.status, is_over: isOver };
    if (!isOver) return { ...about, session_name: await services.sessions.open(run, true), goes_on_by: null };
    const hasChat = run.chatId !== null && run.startedAt !== null;
    const goes_on_by = { reply: hasChat, take_over: hasChat && (await canBeTakenOver(call, run)) };
    return { ...about, session_name: null, goes_on_by };
  },
});

/** Opens a terminal window on the user's screen: on the running run, or on its chat after its end. Stops nothing. */
export const openTerminal = operation({
  name: 'open_terminal',
  route: 'POST /runs/{run}/terminal',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run_id: z.string(),
    /** The terminal program. */
    program: z.string(),
    /** The command that the window runs. */
    command: z.string(),
  }),
  async run(call, { run: given }) {
    const { services } = call;
    const run = await findRun(services, given);
    const takesOver = isEnd(run.status);
    if (takesOver) await interactiveCommand(call, run);
    const { env, program, why } = await terminalFor(call);
    if (program === null) throw noTerminal(run, why);
    await services.terminals.open(env, { run: run.id, takesOver }).catch((thrown: Error) => {
      throw noTerminal(run, thrown.message, thrown);
    });
    return { run_id: run.id, program, command: attachCommandOf(run) };
  },
});

/** The terminal program for this caller, and the environment of its windows. */
export async function terminalFor({ services, caller }: Pick<Call, 'services' | 'caller'>) {
  const env = await services.workspaces.environment(caller);
  return { env, ...services.terminals.find(env) };
}

export const attachCommandOf = ({ id, status }: Run): string =>
  `squad attach ${shellWord(id)}${isEnd(status) ? ' --take-over' : ''}`;

const noTerminal = (run: Run, why: string, cause?: Error): SquadError =>
  new SquadError('TERMINAL_UNAVAILABLE', `No window was opened: ${why}`, {
    suggestions: [`Type it in a terminal of your own: \`${attachCommandOf(run)}\`.`],
    cause,
  });
