import { z } from 'zod';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { EventBody } from '../../schema/event.ts';
import { newSquadId, RunId } from '../../schema/ids.ts';
import { Review } from '../../schema/review.ts';
import { Chat, isEnd, Run, Squad, Turn } from '../../schema/run.ts';
import type { Engines } from '../ports/engine.ts';
import type { RunFiles, RunSource } from '../ports/run-files.ts';
import type { Change, Store } from '../ports/store.ts';
import { parseJson } from '../text.ts';
import type { RunEngine, RunMaterial } from './live-run.ts';
import { loadPlan, PLAN_FILE } from './plan-file.ts';
import { optionsOf } from './run-request.ts';

/** A run's part of the database, stored in the run's folder: enough to restore its rows. Activity, tool calls, inbox items and messages are not included. */
export const RunRecord = z.object({
  squad: Squad,
  run: Run,
  turns: z.array(Turn),
  chats: z.array(Chat),
  /** Reviews of work that this run did. */
  reviews: z.array(Review),
  events: z.array(z.object({ at: z.number(), body: EventBody })),
});
export type RunRecord = z.infer<typeof RunRecord>;

/** Types of events that other code depends on, or that outline the run's history. */
export const RECORDED_EVENTS = [
  'run.queued',
  'run.started',
  'run.stopping',
  'run.told',
  'run.sent',
  'run.receipt',
  'run.woken',
  'run.limited',
  'run.turn_ended',
  'run.ended',
  'run.budget',
  'review.requested',
  'review.closed',
  'worktree.made',
  'worktree.removed',
  'worktree.kept',
  'pull_request.opened',
  'issues.created',
  'branch.integrated',
] as const satisfies EventBody['type'][];

const ALL_ROWS = 1_000;

/**
 * Delay before a record is written. A run that starts at once makes its next commit in this time, so that one record
 * covers both.
 */
const RECORD_DELAY_MS = 10;

/**
 * Wraps a store so that each commit about a run also writes a record into the run's folder. The record follows the
 * commit, so a folder without a record belongs to a run whose start was never reported. The first and the last commit
 * of a run do not wait for the record, because the agent's start and its answer would wait too. `recorded` waits for
 * it.
 */
export function keepRecords<S extends Store>(
  store: S,
  files: Pick<RunFiles, 'record' | 'saveRecord'>,
  warn: (message: string, cause: unknown) => void,
): S & Required<Pick<Store, 'recorded'>> {
  const queue = new KeyedQueue<RunId>();
  /** Changes that are committed but not yet in a record. */
  const waiting = new Map<RunId, { part: Part; written: PromiseWithResolvers<void> }>();
  let isDue = false;

  /** Writes this part of the record, merged with the part that is waiting. */
  async function write(id: RunId, part: Part | null): Promise<void> {
    const held = waiting.get(id);
    if (!held && !part) return;
    waiting.delete(id);
    try {
      const before = held?.part.isNew ? null : ownRecord(await files.record(id));
      const parts = [held?.part, part].filter(each => each != null);
      const record = parts.reduce(merge, before) ?? (await recordInStore(store, id));
      if (record) await files.saveRecord(id, JSON.stringify(record));
    } finally {
      held?.written.resolve();
    }
  }

  const save = (id: RunId, part: Part | null = null): Promise<void> =>
    queue
      .run(id, () => write(id, part))
      // A missing record is no error of the commit, because the change is in the database. Only a restore from the
      // folder would miss the change.
      .catch(thrown => warn(`The record in the folder of ${id} could not be written`, thrown));

  async function recorded(ids: readonly RunId[], now = ids): Promise<void> {
    const written = ids.map(id => waiting.get(id)?.written.promise);
    for (const id of now) void save(id);
    await Promise.all(written);
  }

  return {
    ...store,
    async commit(change: Change): Promise<void> {
      const parts = partsOf(change);
      await store.commit(change);
      for (const [id, part] of parts)
        if (mayWait(part) && !waiting.has(id)) waiting.set(id, { part, written: Promise.withResolvers() });
        else await save(id, part);
      if (waiting.size === 0 || isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        for (const id of waiting.keys()) void save(id);
      }, RECORD_DELAY_MS);
    },
    recorded,
    async close(): Promise<void> {
      await recorded([...waiting.keys()]);
      await store.close();
    },
  };
}

const mayWait = ({ isNew, run }: Part): boolean => isNew || (run !== undefined && isEnd(run.status));

export function readRecord(text: string | null): RunRecord | null {
  return RunRecord.safeParse(text === null ? null : parseJson(text)).data ?? null;
}

/**
 * Parses a record without validation, because this runs on every turn. A restore validates the records that it reads.
 */
function ownRecord(text: string | null): RunRecord | null {
  const record = (text === null ? null : parseJson(text)) as RunRecord | null | undefined;
  return record && typeof record === 'object' && PARTS.every(part => part in record) ? record : null;
}

const PARTS = Object.keys(RunRecord.shape);

/** The part of a commit that is about one run. */
interface Part extends Partial<RunRecord> {
  isNew: boolean;
  turns: Turn[];
  chats: Chat[];
  reviews: Review[];
  events: RunRecord['events'];
}

function partsOf(change: Change): Map<RunId, Part> {
  const parts = new Map<RunId, Part>();
  const of = (id: RunId): Part => {
    const part = parts.get(id) ?? { isNew: false, turns: [], chats: [], reviews: [], events: [] };
    parts.set(id, part);
    return part;
  };
  const { runs = [], chats: allChats = [] } = change;
  for (const run of runs) {
    const squad = change.squads?.find(({ id }) => id === run.squadId);
    const chats = allChats.filter(({ runId }) => runs.length === 1 || runId === run.id);
    Object.assign(of(run.id), {
      ...{ run: { ...run, notes: [...run.notes] }, chats },
      ...(squad && { squad, isNew: true }),
    });
  }
  for (const turn of change.turns ?? []) of(turn.runId).turns.push({ ...turn });
  for (const review of change.reviews ?? []) of(review.coderId).reviews.push({ ...review });
  for (const { at, runId, body } of change.events)
    if (runId !== null && isRecorded(body)) of(runId).events.push({ at, body });
  return parts;
}

const isRecorded = ({ type }: EventBody): boolean => (RECORDED_EVENTS as readonly string[]).includes(type);

/** Adds a part to a record. Null if the result is incomplete, so that it has to be read from the database. */
function merge(before: RunRecord | null, part: Part): RunRecord | null {
  const squad = part.squad ?? before?.squad;
  const run = part.run ?? before?.run;
  if (!squad || !run) return null;
  return {
    squad,
    run,
    turns: replaced(before?.turns, part.turns, ({ number }) => number),
    chats: replaced(before?.chats, part.chats, ({ id }) => id, keepTotals),
    reviews: replaced(before?.reviews, part.reviews, ({ id }) => id),
    events: [...(before?.events ?? []), ...part.events],
  };
}

function replaced<T>(
  before: T[] = [],
  now: T[],
  key: (item: T) => unknown,
  join = (_: T, item: T): T => item,
): T[] {
  const all = new Map(before.map(item => [key(item), item]));
  for (const item of now) {
    const earlier = all.get(key(item));
    all.set(key(item), earlier === undefined ? item : join(earlier, item));
  }
  return [...all.values()];
}

/** A turn that reported no usage does not change the totals of the chat. The database follows the same rule. */
const keepTotals = (earlier: Chat, chat: Chat): Chat => ({
  ...chat,
  totals: chat.totals ?? earlier.totals,
  createdAt: earlier.createdAt,
});

/**
 * Builds the record from the database, for a run whose hub died before its record was written, or that is older than
 * records.
 */
async function recordInStore(store: Store, id: RunId): Promise<RunRecord | null> {
  const run = await store.run(id);
  const squad = run && (await store.squad(run.squadId));
  if (!run || !squad) return null;
  const [turns, chat, reviews, events] = await Promise.all([
    store.turns(id),
    run.chatId === null ? null : store.chat(run.chatId),
    store.reviews({ coderId: id, limit: ALL_ROWS }),
    store.events({ runId: id, types: [...RECORDED_EVENTS], limit: ALL_ROWS }),
  ]);
  return {
    ...{ squad, run, turns, reviews },
    chats: chat ? [chat] : [],
    events: events.map(({ at, body }) => ({ at, body })),
  };
}

interface StoredRunPorts {
  files: RunFiles;
  engines: Pick<Engines, 'create'>;
}

/**
 * Rebuilds the engine of a run that an earlier hub left, from the run's folder. Throws LOST when the folder is
 * missing or damaged.
 */
export async function storedEngine(run: Run, ports: StoredRunPorts): Promise<RunEngine> {
  return (await storedParts(run, ports)).engine;
}

/**
 * Loads engine and material of a run that an earlier hub left in the queue. Throws LOST also when its environment is
 * missing.
 */
export async function storedRun(
  run: Run,
  ports: StoredRunPorts,
): Promise<{ engine: RunEngine; material: RunMaterial }> {
  const { files } = ports;
  const { engine, prompt } = await storedParts(run, ports);
  const env = await files.environment(run.id).catch(unreadable);
  // Every run has a stored environment, except one on another machine, which has its own there. Without PATH and HOME an agent would fail with a misleading error.
  if (Object.keys(env).length === 0 && run.options.machine === null)
    throw lost('Its folder is damaged: environment.json is missing or empty.');
  const promptFile = files.path({ runId: run.id, number: run.turn }, PROMPT_FILE);
  return { engine, material: { prompt, promptFile, env } };
}

const PROMPT_FILE = 'prompt.md';

async function storedParts(
  run: Run,
  { files, engines }: StoredRunPorts,
): Promise<{ engine: RunEngine; prompt: string }> {
  const prompt = await files.read({ runId: run.id, number: run.turn }, PROMPT_FILE).catch(unreadable);
  if (prompt === null) throw lost('Its folder is gone, with its prompt and its output.');
  const plan = await loadPlan(files, run).catch(unreadable);
  if (!plan) throw lost(`Its folder is damaged: ${PLAN_FILE} cannot be read. Its output so far is kept.`);
  return { engine: { engine: engines.create(plan.spec), spec: plan.spec }, prompt };
}

const unreadable = (thrown: unknown): never => {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  throw lost(`Its folder cannot be read: ${why}`, thrown);
};

const lost = (message: string, cause?: unknown) => new SquadError('LOST', message, { cause });

const Plan = z.object({ engine: EngineSpec });
/**
 * Timeout of a run whose timeout is unknown. The wrapper ends the turn at its own limit, and this value only has to be
 * later.
 */
const UNKNOWN_TIMEOUT_MS = 7 * 86_400_000;

/** Reads run folders to restore a database that lost its rows. */
export function recordedRuns(files: RunFiles): RunSource {
  return {
    list: async () => (await files.list()).filter(({ runId }) => RunId.safeParse(runId).success),
    async record(id) {
      const record = readRecord(await files.record(id));
      return record?.run.id === id ? safeToQueue(record, files) : null;
    },
    unrecorded: (id, changedAt) => unrecorded(id, changedAt, files),
  };
}

/**
 * The environment is removed at the end of a run. So a queued run without an environment has ended, but its last
 * record was not written.
 */
async function safeToQueue(record: RunRecord, files: RunFiles): Promise<RunRecord> {
  const { run, events } = record;
  const first = { runId: run.id, number: 1 };
  if (run.status !== 'queued' || (await files.read(first, 'pid')) !== null) return record;
  if (Object.keys(await files.environment(run.id)).length > 0) return record;
  const message =
    'The database was lost while this run was queued, and its environment is gone: it was not started again.';
  return lostRecord(record, message, events.at(-1)?.at ?? run.createdAt);
}

async function unrecorded(id: RunId, changedAt: number, files: RunFiles): Promise<RunRecord | null> {
  const turn = await lastTurn(id, files);
  const wasPromised = turn > 0 || (await files.record(id)) !== null;
  if (!wasPromised) return null;
  const [prompt, plan, answer, exit] = await Promise.all([
    files.read({ runId: id, number: 1 }, 'prompt.md'),
    files.read({ runId: id, number: 1 }, PLAN_FILE),
    files.answer(id),
    files.read({ runId: id, number: turn }, 'exit'),
  ]);
  const at = Math.round(changedAt);
  const spec = Plan.safeParse(plan === null ? null : parseJson(plan)).data?.engine;
  const engine = !spec ? 'template' : spec.kind === 'cli' ? spec.cli : 'id' in spec ? spec.id : spec.kind;
  const run: Run = {
    ...{ id, squadId: newSquadId(), position: 0, lineageId: id, roleId: null, type: null, reviewOf: null },
    ...{ task: prompt ?? '', title: null, cwd: '/', directory: '/', workspace: '/', worktree: null },
    ...{ engine, outputIsEvents: answer !== null, model: null, stateMode: 'stateless', chatId: null },
    ...{ chatIsNew: true, parentId: null, depth: 0, client: null, timeoutMs: UNKNOWN_TIMEOUT_MS },
    ...{ keepLeftovers: false, policy: [], tokenHash: null, status: 'running', turn, error: null },
    ...{
      usage: null,
      notes: ['Its record was lost: role, folder, squad and settings are not known.'],
      evidence: null,
    },
    ...{ createdAt: at, startedAt: at, endedAt: null },
    options: optionsOf({ task: '', permission: 'read' }, {}),
  };
  const squad = { id: run.squadId, workspace: run.workspace, client: null, metadata: null, createdAt: at };
  const record: RunRecord = { squad, run, turns: [], chats: [], reviews: [], events: [] };
  if (turn === 0)
    return lostRecord(
      { ...record, run: { ...run, turn: 1, startedAt: null } },
      'Its record was lost before it was started.',
      at,
    );
  // Without an exit record the turn may still be running. Recovery finds out.
  if (exit === null) return record;
  return lostRecord(
    record,
    `Its record was lost. Its last turn ended with exit code ${exit.trim()}; its output is kept.`,
    at,
  );
}

async function lastTurn(runId: RunId, files: RunFiles): Promise<number> {
  for (let number = 1; ; number++)
    if ((await files.read({ runId, number }, 'pid')) === null) return number - 1;
}

function lostRecord(record: RunRecord, message: string, at: number): RunRecord {
  const error = { code: 'LOST', message };
  const { usage } = record.run;
  return {
    ...record,
    run: { ...record.run, status: 'lost', error, tokenHash: null, endedAt: at },
    events: [
      ...record.events,
      {
        at,
        body: {
          ...{ type: 'run.ended', status: 'lost', exitCode: null, error, usage },
          ...{ leftovers: [], durationMs: null },
        },
      },
    ],
  };
}
