import { z } from 'zod';
import type { Engine } from '../../core/ports/engine.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import { dryRunFiles, turnFiles } from '../../core/runs/turn-input.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { isEnd, type Run, RunStatus, ShownStatus } from '../../schema/run.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { stopRunsAndWait } from './cancel-run.ts';
import { findRun } from './find-runs.ts';
import { checkProgram, planLost } from './reply-to-run.ts';
import { waitForEnds } from './wait.ts';

/** How long a take-over waits for the run to end. Longer than the grace period after which an agent is killed. */
const END_TIMEOUT_MS = 30_000;
const NOTE = 'taken over at a terminal';

/**
 * Hands a run's chat to a person: ends the run if it is running, and returns the command that opens the chat. All
 * checks are done before the run is ended.
 */
export const takeOver = operation({
  name: 'take_over',
  route: 'POST /runs/{run}/take-over',
  input: z.strictObject({
    run: z.string(),
    /** True to only check whether a take-over is possible, and to end nothing. */
    only_look: z.boolean().default(false),
  }),
  output: z.object({
    run_id: z.string(),
    /** Status before the run was ended. */
    status: ShownStatus,
    is_over: z.boolean(),
    engine: z.string(),
    chat_id: z.string(),
    cwd: z.string(),
    /** Command that opens the chat. Null with `only_look`. */
    command: z.object({ argv: z.array(z.string()), env: z.record(z.string(), z.string()) }).nullable(),
  }),
  async run(call, { run: given, only_look }) {
    const { services, caller } = call;
    const run = await findRun(services, given);
    const { status } = run;
    const { interactive, chatId, engine } = await interactiveCommand(call, run);
    // The environment is removed at the end of the run.
    const env = isEnd(status) ? caller.env : await services.files.environment(run.id);
    // A dry run first: if the chat cannot be opened, the run must not be ended.
    await interactive({ chatId, env, files: dryRunFiles(services.files, run) });
    const summary = {
      run_id: run.id,
      status: shownStatus(run),
      is_over: isEnd(status),
      engine: run.engine,
      chat_id: chatId,
    };
    if (only_look) return { ...summary, cwd: run.directory, command: null };
    await end(call, run);
    const files = turnFiles(services.files, { runId: run.id, number: run.turn }, run);
    const opened = await interactive({ chatId, env, files });
    const command = { argv: opened.argv, env: { ...env, ...opened.env }, stdin: null };
    const inside = await services.runner.confinedCommand(run, engine, command, env);
    return { ...summary, cwd: run.directory, command: { argv: inside.argv, env: inside.env } };
  },
});

/** Whether a person can continue the chat of a run that has ended. */
async function canBeTakenOver(call: InteractiveCall, run: Run): Promise<boolean> {
  return interactiveCommand(call, run).then(
    () => true,
    thrown => {
      if (thrown instanceof SquadError) return false;
      throw thrown;
    },
  );
}

interface InteractiveCall extends Pick<Call, 'caller'> {
  services: Pick<Services, 'files' | 'engines' | 'machines' | 'runner' | 'workspaces'>;
}

const elsewhere = ({ id }: Run, machine: string): SquadError =>
  new SquadError(
    'TERMINAL_UNAVAILABLE',
    `The chat of run ${id} is on ${machine}, where Squad cannot open it`,
    {
      suggestions: [
        `Continue it with \`squad reply ${shellWord(id)} TEXT\`, or log in to ${machine} and start the program there.`,
      ],
    },
  );

/** The command with which a person continues the chat of a run. Throws if there is none. */
export async function interactiveCommand(
  { services, caller }: InteractiveCall,
  run: Run,
): Promise<{ interactive: NonNullable<Engine['interactive']>; chatId: string; engine: Engine }> {
  if (run.options.machine !== null) throw elsewhere(run, run.options.machine);
  const plan = await loadPlan(services.files, run);
  if (plan === null) throw planLost(run);
  const engine = services.engines.create(plan.spec);
  const { interactive } = engine;
  if (interactive === null) throw notInteractive(run, plan.spec);
  const { id, chatId } = run;
  if (chatId === null || run.startedAt === null) throw noChatYet(run);
  await checkProgram(services, run, plan.spec, caller.env);
  if (!(await services.workspaces.isThere(run.directory))) throw noFolder(run);
  const other = services.runner.liveRuns().find(live => live.id !== id && live.chatId === chatId);
  if (other)
    throw busy(
      run,
      `its chat is in use by run ${other.id}`,
      `Take over that run instead: \`squad attach ${shellWord(other.id)} --take-over\`.`,
    );
  return { interactive, chatId, engine };
}

async function end(call: Call, run: Run): Promise<void> {
  const { services } = call;
  if (!services.runner.current(run.id)) return;
  services.runner.note(run.id, NOTE);
  await stopRunsAndWait(services, [run], null, stopped => waitForEnds(call, stopped, END_TIMEOUT_MS));
  if (services.runner.current(run.id))
    throw busy(
      run,
      'it was asked to stop and is still running',
      `Try again in a moment; \`squad show ${shellWord(run.id)}\` shows its state.`,
    );
}

const busy = ({ id }: Run, why: string, next: string): SquadError =>
  new SquadError('CHAT_BUSY', `Run ${id} cannot be taken over: ${why}`, { suggestions: [next] });

const noFolder = ({ id, directory }: Run): SquadError =>
  new SquadError('CWD_MISSING', `Run ${id} cannot be taken over: its folder ${directory} does not exist`, {
    suggestions: [
      `Create the folder again. If it was a work tree, \`squad reply ${shellWord(id)} "…"\` creates it.`,
    ],
  });

function notInteractive({ id, engine, status }: Run, { kind }: EngineSpec): SquadError {
  const why =
    kind === 'scripted'
      ? 'follows a script and has'
      : kind === 'native'
        ? 'is an agent without a terminal and has'
        : 'is a command of your own, of which Squad knows';
  return new SquadError(
    'CHAT_UNKNOWN',
    `Run ${id} cannot be taken over: the ${engine} engine ${why} no interactive mode`,
    {
      suggestions: [
        isEnd(status)
          ? `\`squad log ${shellWord(id)}\` shows its output.`
          : `Watch it with \`squad attach ${shellWord(id)}\`, or end it with \`squad cancel ${shellWord(id)}\`.`,
      ],
    },
  );
}

function noChatYet({ id, engine, status }: Run): SquadError {
  const [why, next] = isEnd(status)
    ? ['it ended before there was a chat', `\`squad retry ${shellWord(id)}\` starts the task again.`]
    : [`${engine} has not begun a chat yet`, 'Try again in a moment.'];
  return new SquadError('CHAT_UNKNOWN', `Run ${id} cannot be taken over: ${why}`, { suggestions: [next] });
}

/** Opens the tmux session of a run that has not ended. */
export const openSession = operation({
  name: 'open_session',
  route: 'POST /runs/{run}/session',
  input: z.strictObject({ run: z.string() }),
  output: z.object({
    run_id: z.string(),
    status: RunStatus,
    is_over: z.boolean(),
    /** Name of the tmux session. Null if tmux is missing or switched off, or the run has ended. */
    session_name: z.string().nullable(),
    /** How an ended run can be continued. Null if the run has not ended. */
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

/**
 * Opens a terminal window on the user's screen: with the running run, or with its chat after its end. Stops nothing.
 */
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

/** The terminal program for this caller, and the environment for its windows. */
export async function terminalFor({ services, caller }: Pick<Call, 'services' | 'caller'>) {
  const env = await services.workspaces.environment(caller);
  return { env, ...services.terminals.find(env) };
}

export const attachCommandOf = ({ id, status }: Run): string =>
  `squad attach ${shellWord(id)}${isEnd(status) ? ' --take-over' : ''}`;

const noTerminal = (run: Run, why: string, cause?: Error): SquadError =>
  new SquadError('TERMINAL_UNAVAILABLE', `No window was opened: ${why}`, {
    suggestions: [`Run this in a terminal of your own: \`${attachCommandOf(run)}\`.`],
    cause,
  });
