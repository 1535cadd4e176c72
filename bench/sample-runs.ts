import type { Change } from '../src/core/ports/store.ts';
import { PLAIN_OPTIONS } from '../src/core/testing/plain-options.ts';
import { newRunId, newSquadId } from '../src/schema/ids.ts';
import type { Run } from '../src/schema/run.ts';

const HOUR_MS = 3_600_000;

/** All database changes of one run of one member, as the runner writes them. */
export function finishedRun(workspace: string, createdAt = Date.now() - HOUR_MS): Change[] {
  const squad = { id: newSquadId(), workspace, client: 'bench 1', metadata: null, createdAt };
  const [startedAt, endedAt] = [createdAt + 20, createdAt + 60_000];
  const id = newRunId();
  const run: Run = {
    id,
    lineageId: id,
    title: null,
    options: PLAIN_OPTIONS,
    policy: [],
    tokenHash: null,
    notes: [],
    evidence: null,
    squadId: squad.id,
    position: 0,
    roleId: 'coder',
    type: null,
    reviewOf: null,
    task: 'Add a retry to the upload, with a test that shows it. '.repeat(8),
    cwd: '.',
    directory: workspace,
    workspace,
    worktree: null,
    engine: 'template',
    outputIsEvents: false,
    model: null,
    stateMode: 'stateless',
    chatId: null,
    chatIsNew: false,
    parentId: null,
    depth: 0,
    client: 'bench 1',
    timeoutMs: 1_800_000,
    keepLeftovers: false,
    status: 'queued',
    turn: 1,
    error: null,
    usage: null,
    createdAt,
    startedAt: null,
    endedAt: null,
  };
  const turn = {
    runId: run.id,
    number: 1,
    pid: 4242,
    startedAt,
    deadlineAt: startedAt + run.timeoutMs,
    stop: null,
    endedAt: null,
    exitCode: null,
    leftovers: [],
  };
  const of = { runId: run.id, squadId: squad.id };
  return [
    {
      squads: [squad],
      runs: [run],
      events: [
        { at: createdAt, runId: null, squadId: squad.id, body: { type: 'squad.created', members: 1 } },
        { at: createdAt, ...of, body: { type: 'run.queued', roleId: run.roleId, engine: run.engine } },
      ],
    },
    {
      runs: [{ ...run, status: 'running', startedAt }],
      turns: [turn],
      events: [{ at: startedAt, ...of, body: { type: 'run.started', turn: 1, pid: turn.pid } }],
    },
    {
      runs: [{ ...run, status: 'completed', startedAt, endedAt }],
      turns: [{ ...turn, endedAt, exitCode: 0 }],
      events: [
        {
          at: endedAt,
          ...of,
          body: {
            type: 'run.ended',
            status: 'completed',
            exitCode: 0,
            error: null,
            usage: null,
            leftovers: [],
            durationMs: endedAt - startedAt,
          },
        },
      ],
    },
  ];
}
