import { z } from 'zod';
import { EngineSpec } from '../../schema/engine-spec.ts';
import { newSquadId, RunId } from '../../schema/ids.ts';
import type { Run } from '../../schema/run.ts';
import type { RunFiles, RunSource } from '../ports/run-files.ts';
import { parseJson } from '../text.ts';
import { PLAN_FILE } from './plan-file.ts';
import { type RunRecord, readRecord } from './run-record.ts';
import { optionsOf } from './run-request.ts';

const Plan = z.object({ engine: EngineSpec });
/** The wrapper ends the turn at its own limit; this value only has to be later. */
const UNKNOWN_TIMEOUT_MS = 7 * 86_400_000;

/** Reads run folders for a database that lost its rows. */
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

/** The environment is removed at the end of a run. A queued run without one has ended, but its last record was not written. */
async function safeToQueue(record: RunRecord, files: RunFiles): Promise<RunRecord> {
  const { run, events } = record;
  const first = { runId: run.id, number: 1 };
  if (run.status !== 'queued' || (await files.read(first, 'pid')) !== null) return record;
  if (Object.keys(await files.environment(run.id)).length > 0) return record;
  const message =
    'The database was lost while this run was queued, and its environment is gone: it was not started again.';
  return lost(record, message, events.at(-1)?.at ?? run.createdAt);
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
  const engine = !spec
    ? 'template'
    : spec.kind === 'cli'
      ? spec.cli
      : spec.kind === 'template'
        ? spec.id
        : spec.kind;
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
    return lost(
      { ...record, run: { ...run, turn: 1, startedAt: null } },
      'Its record was lost before it was started.',
      at,
    );
  // Without an exit record it may still be running: recovery finds out.
  if (exit === null) return record;
  return lost(
    record,
    `Its record was lost. Its last turn ended with exit code ${exit.trim()}; its output is kept.`,
    at,
  );
}

async function lastTurn(runId: RunId, files: RunFiles): Promise<number> {
  for (let number = 1; ; number++)
    if ((await files.read({ runId, number }, 'pid')) === null) return number - 1;
}

function lost(record: RunRecord, message: string, at: number): RunRecord {
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
