import { SquadError } from '../../schema/error.ts';
import type { Run, Usage } from '../../schema/run.ts';
import { NOTHING_KNOWN } from '../cost/usage.ts';
import { loadBaseline, saveBaseline, takeBaseline } from '../evidence/baseline.ts';
import { jsonLength } from '../output/digest.ts';
import type { Engine, Engines, RunEndpoint, SandboxNeeds } from '../ports/engine.ts';
import type { Command, Executor, LiveTurn, TurnEnd, TurnRef, TurnSandbox } from '../ports/turns.ts';
import type { FolderChanges } from '../ports/worktrees.ts';
import { lastLine } from '../text.ts';
import type { LiveRun, RunMaterial } from './live-run.ts';
import { HARD_LIMIT_GRACE_MS } from './outcome.ts';
import { saveCommand } from './plan-file.ts';
import type { LedgerPorts, RunLedger } from './run-ledger.ts';
import { storedRun } from './run-record.ts';
import { turnFiles, turnInput } from './turn-input.ts';
import { chatEnvironment, environmentInside } from './turn-sandbox.ts';

/** Opening a chat is bookkeeping: a command that takes longer hangs. */
const CREATE_CHAT_TIMEOUT_MS = 60_000;
/** A create-chat command has nothing to save that would need longer. */
const STOP_GRACE_MS = 1_000;
/** Chat ids are part of results, which have a size limit. In characters of JSON. */
export const MAX_CHAT_ID_LENGTH = 1_000;
/** The create-chat command has a folder of its own, so that its output is never mistaken for the agent's. */
const CHAT_TURN = 0;

/** Runs the create-chat command. The id is the last non-empty line that it prints. */
async function openChat(entry: LiveRun, material: RunMaterial, ports: TurnStartPorts): Promise<string> {
  const { files, executor } = ports;
  const { run, engine } = entry;
  if (engine.newChat?.kind !== 'command')
    throw new SquadError('CHAT_FAILED', `The ${engine.id} engine cannot open a chat`);
  const turn = { runId: run.id, number: CHAT_TURN };
  const command = await engine.newChat.command(turnInput(run, material, null, turnFiles(files, turn, run)));
  await files.prepare(turn, material.prompt);
  const limitMs = Math.min(CREATE_CHAT_TIMEOUT_MS, run.timeoutMs);
  const process = await executor.start(
    {
      ...turn,
      ...(await confined(entry, engine, turn, { ...command, stdin: null }, ports)),
      cwd: run.directory,
      hardLimitMs: limitMs + HARD_LIMIT_GRACE_MS,
    },
    { keepLeftovers: false },
  );
  entry.process = process;
  // The stop may have been requested while there was no process.
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
    `The create-chat command failed: ${why}${err.text ? `: ${err.text.trim()}` : ''}`,
    {
      suggestions: [
        'Run the create-chat command by hand: it must exit 0 and print the chat id as its last line.',
      ],
    },
  );
}

/** The hub's own limit. The wrapper's limit is later, for when there is no hub. */
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
  // Invalid UTF-8 is decoded to this character: the id would not be the one that was printed.
  if (id.includes('\ufffd')) return 'the id it printed is not UTF-8';
  return null;
}

export interface TurnStartPorts extends LedgerPorts {
  engines: Pick<Engines, 'create' | 'refresh'>;
  executor: Executor;
  /** Creates the run's token and returns Squad's address for its agent. Null: not available now. */
  endpoint(run: Run, turn: TurnRef): Promise<RunEndpoint | null>;
  workTree: FolderChanges;
  /** Creates the run's work tree, if it has one. Returns notes for the agent about a work tree that had to be created again. Stops when the signal fires. */
  prepareFolder(run: Run, env: Record<string, string>, signal: AbortSignal): Promise<string[]>;
  /** Prepares the sandbox of a turn. `identity`: variables for the author of commits. */
  confine(
    run: Run,
    turn: TurnRef,
    needs: SandboxNeeds,
    env: Record<string, string>,
  ): Promise<{ sandbox: TurnSandbox; identity: Record<string, string> }>;
}

/**
 * From a free slot to a running process. Null: it was asked to stop before there was one. Throws LOST when the files of a run
 * of an earlier hub are gone or damaged.
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
  const engine = await engineNow(entry, ports.engines);
  const notes = await ports.prepareFolder(run, entry.material!.env, entry.starting.signal);
  const material = await withNotes(entry, notes, files);
  const baseline = run.turn > 1 ? null : (entry.earlyBaseline ?? takeBaseline(run.directory, ports.workTree));
  entry.earlyBaseline = null;
  if (needsChat(entry)) {
    const chatId = await openChat(entry, material, ports);
    // A create-chat command may print the id of an existing chat.
    refuseBusyChat(chatId);
    entry.takeChat(chatId);
    // On disk before the agent gets it: if the hub dies now, the next one must neither open another chat nor forget this one.
    await ledger.chatOpened(run);
  }
  if ((!run.chatIsNew || run.turn > 1) && run.chatId !== null)
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
  // Only now: the command leaves the choice to the engine's configuration, and this reads what it will choose.
  run.model ??= engine.configuredModel?.(input) ?? null;
  // Evidence covers the whole run, not only its last turn.
  entry.baseline = baseline
    ? await saveBaseline(entry, turn, baseline, ports)
    : await loadBaseline(files, { ...turn, number: 1 });
  if (entry.stop !== null) return null;
  const startedAt = clock.now();
  const hardLimitMs = entry.timeLeft(clock) + HARD_LIMIT_GRACE_MS;
  const process = await executor.start(
    {
      ...turn,
      ...(await confined(entry, engine, turn, command, ports)),
      cwd: run.directory,
      hardLimitMs,
    },
    { keepLeftovers: run.keepLeftovers },
  );
  // Only for display, so the agent's start does not wait for it.
  await saveCommand(files, turn, command, input).catch(thrown =>
    ports.warn(`The command of ${run.id} could not be saved`, thrown),
  );
  await ledger.started(entry, process.pid, startedAt);
  return process;
}

/** The command in the sandbox of its run, if it has one. */
export async function confined(
  { run, material }: { run: Run; material: Pick<RunMaterial, 'env'> | null },
  engine: Engine,
  turn: TurnRef,
  command: Command,
  ports: Pick<TurnStartPorts, 'confine'>,
): Promise<{ command: Command; sandbox: TurnSandbox | null }> {
  if (run.options.sandbox.level === 'off') return { command, sandbox: null };
  const { env } = material!;
  const needs = engine.sandbox({ env, model: run.model, cwd: run.directory, options: run.options });
  const { sandbox, identity } = await ports.confine(run, turn, needs, env);
  const inside = environmentInside(command.env, needs, { home: sandbox.home, identity });
  return { command: { ...command, env: inside }, sandbox };
}

/** Usage of the chat before this turn. Totals that others added to since the last turn say nothing about this one. */
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
  // On disk before the turn starts, because a hub that takes the turn over can no longer see it.
  await ledger.chatOpened(run, { ...NOTHING_KNOWN, mark: null });
  return NOTHING_KNOWN;
}

/** The run may have waited long, in the queue or for a review, so its engine is checked again before each turn. */
async function engineNow(
  { engine, spec, material }: LiveRun,
  engines: TurnStartPorts['engines'],
): Promise<Engine> {
  const now = await engines.refresh(spec, material!.env);
  return now.spec === spec ? engine : engines.create(now.spec);
}

/** Puts notes before the task in the prompt, and adds them to the run's notes. */
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

/** A create-chat command runs only where chats were requested. */
const needsChat = ({ run, engine }: LiveRun): boolean =>
  run.chatIsNew && run.chatId === null && engine.newChat?.kind === 'command' && run.stateMode === 'stateful';
