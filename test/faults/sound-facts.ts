import { PLAIN_OPTIONS } from '../../src/core/testing/plain-options.ts';
import type { Event } from '../../src/schema/event.ts';
import type { RunId, SquadId } from '../../src/schema/ids.ts';
import type { EndStatus, Run, Turn } from '../../src/schema/run.ts';
import type { RoundFacts, RunFacts } from './facts.ts';
import { type Member, planMembers } from './members.ts';

const ASKED_AT = 1_700_000_000_000;
const STARTED_AT = ASKED_AT + 100;
const ENDED_AT = STARTED_AT + 1000;

/** A round in which everything went well, to be spoilt in one place and shown to the checks. */
export function soundFacts(): RoundFacts {
  const plans = planMembers(1, 0, '/side');
  const squads = plans.map((plan, i) => {
    const squadId = `squad_000000000${i}` as SquadId;
    const runs = plan.members.map((member, position) => soundRun(member, squadId, plan.name, position));
    return { plan, promised: runs.map(({ run }) => run.id), isCut: false, runs };
  });
  const created: Event[] = squads.map(({ runs }) =>
    event(runs[0]!.run, { type: 'squad.created', members: runs.length }),
  );
  const all = [
    ...created.map(each => ({ ...each, runId: null })),
    ...squads.flatMap(({ runs }) => runs.flatMap(run => run.events)),
  ];
  all.forEach((each, i) => {
    each.seq = i + 1;
  });
  return {
    squads,
    events: all,
    seenBefore: structuredClone(all.slice(0, 10)),
    strangers: [],
    processes: [],
    hubs: 1,
    concurrency: plans.flatMap(({ members }) => members).length,
  };
}

function soundRun(member: Member, squadId: SquadId, name: string, position: number): RunFacts {
  const status = endOf(member);
  const bySelf = status === 'completed' || status === 'error';
  const exitCode = bySelf ? member.exitCode : 143;
  const run = runOf(member, squadId, position, status);
  const turn: Turn = {
    runId: run.id,
    number: 1,
    pid: 4242,
    startedAt: STARTED_AT,
    deadlineAt: STARTED_AT + run.timeoutMs,
    stop: null,
    endedAt: ENDED_AT,
    exitCode,
    leftovers: member.leavesChild ? [{ pid: 4343, command: 'sleep 600' }] : [],
  };
  const reason = status === 'timeout' ? 'timeout' : 'cancel';
  return {
    member,
    run,
    turns: [turn],
    squad: { id: squadId, workspace: '/w', client: null, metadata: { name }, createdAt: ASKED_AT },
    result: resultOf(member, run),
    events: [
      event(run, { type: 'run.queued', roleId: run.roleId, engine: run.engine }),
      event(run, { type: 'run.started', turn: 1, pid: 4242 }),
      ...(bySelf ? [] : [{ ...event(run, { type: 'run.stopping', reason }), at: ENDED_AT - 50 }]),
      {
        ...event(run, {
          ...{ type: 'run.ended', status, exitCode, error: run.error, usage: null, durationMs: 1000 },
          leftovers: turn.leftovers,
        }),
        at: ENDED_AT + 5,
      },
    ],
    stdout: outputOf(member, bySelf),
    stderr: Buffer.from(member.stderr.map(line => `${line}\n`).join('')),
    side: [
      member.engine === 'scripted'
        ? 'start'
        : `start ${STARTED_AT + 20} ${run.id} ${run.chatId ?? ''}`.trimEnd(),
      ...member.stdout.map((_, i) => `line ${i + 1}`),
      ...(bySelf ? ['end'] : []),
    ],
    chatSide: member.isStateful && member.engine === 'template' ? [`made chat-${member.tag}`] : [],
    chatPrompts: member.engine === 'scripted' ? [`# Task\n${member.tag}`] : null,
    work: null,
    hasEnvironment: false,
    wasOverlooked: false,
    cancelAnswer: member.isCancelled ? 'cancelled' : null,
  };
}

function endOf(member: Member): EndStatus {
  if (member.isCancelled) return 'cancelled';
  if (member.timeoutMs !== null) return 'timeout';
  return member.exitCode === 0 ? 'completed' : 'error';
}

function runOf(member: Member, squadId: SquadId, position: number, status: EndStatus): Run {
  const id = `run_${member.tag.padStart(10, '0')}` as RunId;
  const chat = member.engine === 'scripted' ? `chat_${member.tag}` : `chat-${member.tag}`;
  return {
    ...{ id, squadId, position, status, roleId: member.roleId, task: member.task, engine: member.engine },
    ...{ cwd: '.', directory: '/w', workspace: '/w', model: null, client: null, parentId: null, depth: 0 },
    ...{ type: null, reviewOf: null, worktree: null, turn: 1 },
    stateMode: member.isStateful ? 'stateful' : 'stateless',
    chatId: member.isStateful || member.engine === 'scripted' ? chat : null,
    chatIsNew: true,
    timeoutMs: member.timeoutMs ?? 60_000,
    keepLeftovers: false,
    outputIsEvents: member.engine === 'scripted',
    lineageId: id,
    title: null,
    options: { ...PLAIN_OPTIONS, sandbox: { ...PLAIN_OPTIONS.sandbox, level: member.sandbox } },
    policy: [],
    tokenHash: null,
    notes: [],
    evidence: null,
    error: status === 'error' ? { code: 'ENGINE_FAILED', message: 'exit code 3' } : null,
    usage: null,
    createdAt: ASKED_AT,
    startedAt: STARTED_AT,
    endedAt: ENDED_AT,
  };
}

const resultOf = (member: Member, run: Run): RunFacts['result'] => ({
  ...{ spawn_id: run.id, squad_id: run.squadId, role_id: run.roleId, status: run.status },
  ...{ success: run.status === 'completed', duration_seconds: 1, cost_usd: null, model: null, tokens: null },
  result: member.answer ?? member.stdout.map(line => `${line}\n`).join(''),
  usage_source: 'none',
  sandbox: 'off',
  evidence: {
    ...{
      verdict: null,
      tool_calls: null,
      tool_failures: null,
      files_changed: null,
      commits: null,
      diff: null,
    },
    ...{ exit_code: member.exitCode, leftovers_killed: 0 },
  },
});

function outputOf(member: Member, bySelf: boolean): Buffer {
  if (member.engine === 'template') return Buffer.from(member.stdout.map(line => `${line}\n`).join(''));
  const events = [
    { at: STARTED_AT + 20, type: 'start', scripted: true },
    ...member.stdout.map(text => ({ at: STARTED_AT + 30, type: 'text', text })),
    ...Array.from({ length: member.floods }, () => ({
      at: STARTED_AT + 40,
      type: 'text',
      text: 'flood flood',
    })),
    ...(bySelf ? [{ at: ENDED_AT, type: 'end', ok: true, answer: member.answer, error: null }] : []),
  ];
  return Buffer.from(events.map(line => `${JSON.stringify(line)}\n`).join(''));
}

const event = (run: Run, body: Event['body']): Event => ({
  seq: 0,
  at: STARTED_AT,
  runId: run.id,
  squadId: run.squadId,
  body,
});
