import { SquadError } from '../../schema/error.ts';
import type { Run, Usage } from '../../schema/run.ts';
import { NOTHING_KNOWN } from '../cost/usage.ts';
import { baselineOf, loadBaseline, saveBaseline } from '../evidence/baseline.ts';
import { jsonLength } from '../output/digest.ts';
import type { Engine, Engines, RunEndpoint, SandboxNeeds, SavedChat } from '../ports/engine.ts';
import type { Machines } from '../ports/machines.ts';
import type { Command, Executor, LiveTurn, TurnEnd, TurnRef, TurnSandbox } from '../ports/turns.ts';
import type { FolderChanges } from '../ports/worktrees.ts';
import { lastLine } from '../text.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import { HARD_LIMIT_GRACE_MS } from './outcome.ts';
import { loadPlan, saveCommand } from './plan-file.ts';
import type { LedgerPorts, RunLedger } from './run-ledger.ts';
import { storedRun } from './run-record.ts';
import { continuesChat, turnFiles, turnInput } from './turn-input.ts';
import { chatEnvironment, environmentInside } from './turn-sandbox.ts';
import { type TwoWayPorts, TwoWayTurn } from './two-way.ts';

/** Time after which a create-chat command counts as hanging. Normally it returns at once. */
const CREATE_CHAT_TIMEOUT_MS = 60_000;
/** A create-chat command has nothing to save, so it gets little time to end. */
const STOP_GRACE_MS = 1_000;
/** Limit in characters of JSON. Chat ids are part of results, whose size is limited. */
export const MAX_CHAT_ID_LENGTH = 1_000;
/**
 * Turn number of the create-chat command and of the set-up of the work tree. They have their own folder, so that their
 * output is never mistaken for the agent's.
 */
const NO_TURN = 0;

/** Runs the create-chat command. The last non-empty line of its output is the chat id. */
async function openChat(entry: LiveRun, material: RunMaterial, ports: TurnStartPorts): Promise<string> {
  const { files, executor } = ports;
  const { run, engine } = entry;
  if (engine.newChat?.kind !== 'command')
    throw new SquadError('CHAT_FAILED', `The ${engine.id} engine cannot open a chat`);
  const turn = { runId: run.id, number: NO_TURN };
  const input = turnInput(run, material, null, turnFiles(files, turn, run));
  const command = await engine.newChat.command(input);
  await files.prepare(turn, material.prompt);
  const limitMs = Math.min(CREATE_CHAT_TIMEOUT_MS, run.timeoutMs);
  const process = await executor.start(
    {
      ...turn,
      ...(await confined(entry, engine, turn, { ...command, stdin: null }, ports)),
      cwd: run.directory,
      hardLimitMs: limitMs + HARD_LIMIT_GRACE_MS,
      ...{ machine: run.options.machine, chatFolder: input.files.chatFolder },
    },
    { keepLeftovers: false },
  );
  entry.process = process;
  // The stop may have been requested before there was a process.
  if (entry.stop !== null) process.stop(STOP_GRACE_MS);
  const { end, wasTooSlow } = await endWithin(limitMs, process);
  entry.process = null;
  const [out, err] = await Promise.all([
    files.page(turn, 'stdout', -64 * 1024, 64 * 1024),
    files.page(turn, 'stderr', -2000, 2000),
  ]);
  const id = lastLine(out.text);
  const why = wasTooSlow
    ? `it took longer than ${limitMs / 1000} s`
    : (end.spawnError ?? (end.exitCode === 0 ? faultOf(id) : `exit code ${end.exitCode ?? 'unknown'}`));
  if (why === null) {
    await files.nameChat(run.engine, run.id, id!);
    return id!;
  }
  throw new SquadError(
    'CHAT_FAILED',
    `The create-chat command of the engine ${run.engine} failed: ${why}${err.text ? `: ${err.text.trim()}` : ''}`,
    {
      suggestions: [
        'Run the create-chat command by hand: it must exit 0 and print the chat id as its last line.',
      ],
    },
  );
}

/** Time limit that the hub enforces. The wrapper's limit is later and applies if there is no hub. */
async function endWithin(limitMs: number, process: LiveTurn): Promise<{ end: TurnEnd; wasTooSlow: boolean }> {
  let wasTooSlow = false;
  const timer = setTimeout(() => {
    wasTooSlow = true;
    process.stop(STOP_GRACE_MS);
  }, limitMs).unref();
  const end = await process.ended;
  clearTimeout(timer);
  return { end, wasTooSlow };
}

function faultOf(id: string | null): string | null {
  if (id === null) return 'it printed no id';
  const length = jsonLength(id);
  if (length > MAX_CHAT_ID_LENGTH)
    return `the id it printed is ${length} characters of JSON; at most ${MAX_CHAT_ID_LENGTH} fit`;
  if (/\p{Cc}/u.test(id)) return 'the id it printed holds a control character';
  // The decoder writes U+FFFD in place of invalid UTF-8, so the id would differ from the printed one.
  if (id.includes('\ufffd')) return 'the id it printed is not UTF-8';
  return null;
}

export interface TurnStartPorts extends LedgerPorts {
  engines: Pick<Engines, 'create' | 'refresh' | 'chatAdoption' | 'savedChats'>;
  machines: Pick<Machines, 'places' | 'clis' | 'choose'>;
  executor: Executor;
  twoWay: TwoWayPorts;
  /** Creates the run's token and returns Squad's address for its agent. Null if the port is not available. */
  endpoint(run: Run, turn: TurnRef): Promise<RunEndpoint | null>;
  workTree: FolderChanges;
  /**
   * Creates the run's work tree, if it has one. Returns notes for the agent if a work tree had to be created again.
   * Stops when the signal fires. `confine` wraps a command in the sandbox of the run.
   */
  prepareFolder(
    run: Run,
    env: Record<string, string>,
    signal: AbortSignal,
    confine: (command: Command, cwd: string) => Promise<Command>,
  ): Promise<string[]>;
  /** Prepares the sandbox of a turn. `identity` contains variables for the author of commits. */
  confine(
    run: Run,
    turn: TurnRef,
    needs: SandboxNeeds,
    env: Record<string, string>,
    purpose?: 'turn' | 'set-up',
  ): Promise<{ sandbox: TurnSandbox; identity: Record<string, string> }>;
}

/**
 * Takes a run from a free slot to a running process. Null if the run was asked to stop before it had a process.
 * Throws LOST when the files of an earlier hub's run are missing or damaged.
 */
export async function startTurn(
  entry: LiveRun,
  ports: TurnStartPorts,
  ledger: RunLedger,
  refuseBusyChat: (chatId: string) => void,
): Promise<LiveTurn | null> {
  const { files, executor, store, clock } = ports;
  const { run } = entry;
  await entry.load(() => storedRun(run, ports));
  const engine = await engineNow(entry, ports);
  const confine = (command: Command, cwd: string) => confinedSetUp(entry, engine, { command, cwd }, ports);
  const notes = await ports.prepareFolder(run, entry.material!.env, entry.starting.signal, confine);
  const material = await withNotes(entry, notes, files);
  const baseline = run.turn > 1 ? null : (entry.earlyBaseline ?? baselineOf(run, ports.workTree));
  entry.earlyBaseline = null;
  if (needsChat(entry)) {
    const chatId = await openChat(entry, material, ports);
    // A create-chat command may print the id of a chat that another run is using.
    refuseBusyChat(chatId);
    entry.takeChat(chatId);
    entry.chatBefore = chatId;
    // The chat id is on disk before the agent gets it. If the hub dies now, the next hub must neither open another
    // chat nor forget this one.
    await ledger.chatOpened(run);
  }
  if (run.turn === 1 && !run.chatIsNew) await refuseOpenChat(run, material.env, ports);
  if (continuesChat(run) && run.chatId !== null)
    entry.chatTotals = await totalsBefore(
      run,
      run.chatId,
      engine,
      chatEnvironment(run, material.env, files),
      store,
      ledger,
    );
  const turn = { runId: run.id, number: entry.turnNumber };
  const endpoint = engine.wantsEndpoint ? await ports.endpoint(run, turn) : null;
  const input = turnInput(run, material, endpoint, turnFiles(files, turn, run));
  const command = await engine.command(input);
  // Without a model in the request, the engine's own configuration chooses one. It is read as late as possible, and is
  // not known on another machine.
  if (run.options.machine === null) run.model ??= engine.configuredModel?.(input) ?? null;
  // The baseline is kept across turns, because evidence covers the whole run.
  entry.baseline = baseline
    ? await saveBaseline(entry, turn, baseline, ports)
    : await loadBaseline(files, { ...turn, number: 1 });
  if (entry.stop !== null) return null;
  if (command.isFed) entry.twoWay = await TwoWayTurn.begin(engine.driver!(input), run, turn, ports.twoWay);
  const startedAt = clock.now();
  const hardLimitMs = entry.timeLeft(clock) + HARD_LIMIT_GRACE_MS;
  const process = await executor.start(
    {
      ...turn,
      ...(await confined(entry, engine, turn, command, ports)),
      cwd: run.directory,
      hardLimitMs,
      ...{ machine: run.options.machine, chatFolder: input.files.chatFolder },
    },
    { keepLeftovers: run.keepLeftovers, isLeased: run.options.takeover },
  );
  // The saved command is only for display, so the agent's start does not wait for it.
  await saveCommand(files, turn, command, input).catch(thrown =>
    ports.warn(`The command of ${run.id} could not be saved`, thrown),
  );
  await ledger.started(entry, process.pid, startedAt);
  return process;
}

/** The user may have opened an adopted chat again while its run waited for a slot. A copy of a chat is Squad's own. */
async function refuseOpenChat(
  run: Run,
  env: RunMaterial['env'],
  { files, engines }: Pick<TurnStartPorts, 'files' | 'engines'>,
): Promise<void> {
  const plan = await loadPlan(files, run);
  if (plan?.isAdopted !== true || plan.spec.kind !== 'cli') return;
  if (engines.chatAdoption(plan.spec.cli) === 'copies') return;
  const { chats } = await engines.savedChats(run.directory, env);
  const chat = chats.find(({ id }) => id === run.chatId);
  if (chat?.openIn) throw new SquadError('CHAT_BUSY', openElsewhere(chat, inProcess(chat.openIn)));
}

export const openElsewhere = ({ engine, id }: Pick<SavedChat, 'engine' | 'id'>, where: string): string =>
  `The ${engine} chat ${id} is open elsewhere: ${where}`;

export const inProcess = ({ pid, command }: NonNullable<SavedChat['openIn']>): string =>
  `in process ${pid} (${command})`;

/** Wraps the command in the sandbox of its run, if the run has one. */
export async function confined(
  { run, material }: { run: Run; material: Pick<RunMaterial, 'env'> | null },
  engine: Engine,
  turn: TurnRef,
  command: Command,
  ports: Pick<TurnStartPorts, 'confine'>,
  purpose?: 'turn' | 'set-up',
): Promise<{ command: Command; sandbox: TurnSandbox | null }> {
  if (run.options.sandbox.level === 'off') return { command, sandbox: null };
  const { env } = material!;
  const needs = engine.sandbox({ env, model: run.model, cwd: run.directory, options: run.options });
  const { sandbox, identity } = await ports.confine(run, turn, needs, env, purpose);
  const inside = environmentInside(command.env, needs, { home: sandbox.home, identity });
  return { command: { ...command, env: inside }, sandbox };
}

async function confinedSetUp(
  entry: LiveRun,
  engine: Engine,
  { command, cwd }: { command: Command; cwd: string },
  ports: TurnStartPorts,
): Promise<Command> {
  const turn = { runId: entry.run.id, number: NO_TURN };
  await ports.files.prepare(turn, '');
  const { sandbox, ...inside } = await confined(entry, engine, turn, command, ports, 'set-up');
  return sandbox ? ports.executor.confined({ ...turn, ...inside, sandbox, cwd }) : inside.command;
}

/**
 * Usage of the chat before this turn. If the chat was used outside Squad since the last turn, its totals are dropped,
 * because that usage would count for this turn.
 */
async function totalsBefore(
  run: Run,
  chatId: string,
  engine: Engine,
  env: RunMaterial['env'],
  store: TurnStartPorts['store'],
  ledger: RunLedger,
): Promise<Usage | null> {
  const totals = (await store.chat(chatId))?.totals ?? null;
  if (totals === null || !engine.chatMark) return totals;
  const mark = await engine.chatMark({ chatId, env });
  if (mark !== null && mark === totals.mark) return totals;
  // The totals are reset on disk before the turn starts: a later hub that takes the turn over can no longer detect that
  // the chat was used outside Squad.
  await ledger.chatOpened(run, { ...NOTHING_KNOWN, mark: null });
  return NOTHING_KNOWN;
}

/** Checks the engine again before each turn, because the run may have waited long in the queue or for a review. */
async function engineNow(
  { run, engine, spec, material }: LiveRun,
  { engines, machines }: Pick<TurnStartPorts, 'engines' | 'machines'>,
): Promise<Engine> {
  const now = await engines.refresh(spec, material!.env, machines.clis(run.options.machine));
  return now.spec === spec ? engine : engines.create(now.spec);
}

/** Adds notes to the run, and puts them before the task in the prompt. */
async function withNotes(
  { run, material }: LiveRun,
  notes: string[],
  files: TurnStartPorts['files'],
): Promise<RunMaterial> {
  if (notes.length === 0) return material!;
  for (const note of notes) if (!run.notes.includes(note)) run.notes.push(note);
  const prompt = `Note from Squad about the folder you work in: ${notes.join(' ')}\n\n${material!.prompt}`;
  const { promptFile } = await files.prepare({ runId: run.id, number: run.turn }, prompt);
  return { ...material!, prompt, promptFile };
}

/** A create-chat command runs only for a stateful run that has no chat yet. */
const needsChat = ({ run, engine }: LiveRun): boolean =>
  run.chatIsNew && run.chatId === null && engine.newChat?.kind === 'command' && run.stateMode === 'stateful';
