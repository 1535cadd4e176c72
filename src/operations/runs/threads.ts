import { z } from 'zod';
import { EditorServer, editorServers } from '../../core/gateway/editor-servers.ts';
import type { EngineEvent } from '../../core/ports/engine.ts';
import type { Caller } from '../../core/ports/workspace.ts';
import { descendantsOf } from '../../core/runs/descendants.ts';
import { loadPlan } from '../../core/runs/plan-file.ts';
import type { RunRequest } from '../../core/runs/run-request.ts';
import { checkTask } from '../../core/text.ts';
import { moreCalls } from '../../schema/conversation-view.ts';
import { asSquadError, SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { InboxItem } from '../../schema/inbox.ts';
import {
  Approvals,
  isEnd,
  Permission,
  type Run,
  RunError,
  runSummary,
  ShownStatus,
  Usage,
} from '../../schema/run.ts';
import { runName } from '../../schema/run-text.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { type Call, operation, type Services } from '../operation.ts';
import { readerOf } from '../output/read-output.ts';
import { currentRun, findRun } from './find-runs.ts';
import { planLost, replyTo, workspaceOfRun } from './reply-to-run.ts';
import { startRuns } from './start-runs.ts';

/**
 * A thread is a run with its replies, as an editor shows it: one conversation. Its id is that of its first run, which
 * the editor chooses. These operations are for `squad acp`.
 */

/** Maximum number of runs in a thread that are read. */
const MAX_RUNS = 1_000;
const MAX_SERVERS = 50;

export const continueThread = operation({
  name: 'continue_thread',
  // no HTTP route: an editor speaks to `squad acp`
  route: null,
  input: z.strictObject({
    thread: RunId,
    text: z.string(),
    /**
     * Id of the run that this call may start. For the first run it is the id of the thread. A call that is repeated
     * with the same id starts nothing.
     */
    run: RunId,
    /** Id of the message to a running agent of the thread. A call that is repeated with the same id sends nothing. */
    message: z.uuid(),
    /** Role of the first run. Null for a run without a role. */
    roleId: z.string().nullable().default(null),
    /** Permission of the run (default: that of the role or of the previous run). */
    permission: Permission.optional(),
    approvals: Approvals.optional(),
    servers: z.array(EditorServer).max(MAX_SERVERS).default([]),
  }),
  output: z.object({
    runId: RunId,
    delivery: z.enum(['started', 'in_turn', 'queued']),
    warnings: z.array(z.string()),
  }),
  async run(call, { thread, text, run: id, message, roleId, permission, approvals, servers }) {
    checkTask(text);
    const { services } = call;
    const known = services.runner.current(id) ?? (await services.store.run(id));
    if (known && known.lineageId !== thread)
      throw new SquadError('INVALID_INPUT', `Run ${id} does not belong to ${thread}`);
    if (known) return { runId: id, delivery: 'started' as const, warnings: [] };
    const given = {
      ...{ id, editor: editorServers(servers) },
      ...(permission && { permission }),
      ...(approvals && { approvals }),
    };
    const last = (await runsOf(services, thread)).at(-1);
    if (last && !isEnd(last.status)) {
      const delivery = await tell(call, last, message, text);
      // The run has ended in the meantime. Once its end is written, its chat is free.
      if (delivery !== null) return { runId: last.id, delivery, warnings: [] };
      await services.runner.untilEnded(last.id, call.signal);
    }
    const ended = last && (await currentRun(services, last));
    const plan = ended
      ? await reply(call, ended, text, given)
      : await first(call, { form: roleId === null ? 'spawn' : 'member', task: text, ...given }, roleId);
    return { runId: id, delivery: 'started' as const, warnings: plan.warnings };
  },
});

type Given = Pick<RunRequest, 'id' | 'editor' | 'permission' | 'approvals'>;

async function first(call: Call, request: RunRequest, roleId: string | null) {
  const workspace = await call.services.workspaces.open(call.caller);
  return startRuns(call, { members: [{ ...request, ...(roleId !== null && { roleId }) }] }, workspace);
}

async function reply(call: Call, last: Run, text: string, given: Given) {
  try {
    const { asked, workspace } = await replyTo(call, last, text);
    return await startRuns(call, { members: [{ ...asked.members[0]!, ...given }] }, workspace);
  } catch (thrown) {
    if (asSquadError(thrown).code !== 'CHAT_UNKNOWN') throw thrown;
  }
  const kept = await loadPlan(call.services.files, last);
  if (kept === null) throw planLost(last);
  const request = {
    ...{ ...kept.request, ...given, title: undefined, task: text, keeps: last.options.sandbox },
    takesUp: { runId: last.id, by: 'reply' as const },
    place: { directory: last.directory, worktree: last.worktree },
  };
  const workspace = await workspaceOfRun(call.services, call.caller, last.workspace);
  const plan = await startRuns(call, { members: [request] }, workspace);
  return { ...plan, warnings: [...plan.warnings, FORGOTTEN] };
}

const FORGOTTEN = 'The last run left no chat to continue, so the agent starts without what was said before.';

async function tell(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  { id: runId }: Run,
  id: string,
  text: string,
): Promise<'in_turn' | 'queued' | null> {
  const sent = (await messagesTo(services, runId)).find(message => message.id === id);
  return sent ? sent.delivery : services.runner.tell(runId, { id, text, by: caller.client }, false);
}

const MAX_EVENTS = 10_000;

/** Messages of clients to the agent of a run, with the turn that they belong to. */
async function messagesTo({ store }: Pick<Services, 'store'>, runId: RunId) {
  const types = ['run.started', 'run.told'] as const;
  let turn = 1;
  return (await store.events({ runId, types: [...types], limit: MAX_EVENTS })).flatMap(({ body }) => {
    if (body.type === 'run.started') turn = body.turn;
    if (body.type !== 'run.told' || body.from !== undefined) return [];
    const { id, text, delivery } = body;
    return [{ id, text, delivery, turn: delivery === 'queued' ? turn + 1 : turn }];
  });
}

/** Runs of the thread, oldest first: the first, and each that continues one of them. Empty if there is none. */
async function runsOf(services: Pick<Services, 'store' | 'runner'>, thread: RunId): Promise<Run[]> {
  const rows = await services.store.runs({ lineageId: thread, limit: MAX_RUNS });
  const left = new Set(rows.toSorted((a, b) => a.createdAt - b.createdAt));
  const runs = new Map<RunId, Run>();
  // Each run is placed after the one that it continues. Times are not compared, because the clock may have been set
  // back.
  for (let before = -1; before < runs.size; ) {
    before = runs.size;
    for (const run of left) {
      const { takesUp } = run.options;
      if (run.id !== thread && !(takesUp && runs.has(takesUp.runId))) continue;
      runs.set(run.id, run);
      left.delete(run);
    }
  }
  return Promise.all([...runs.values()].map(run => currentRun(services, run)));
}

const ShownThread = z.object({
  thread: RunId,
  title: z.string(),
  workspace: z.string(),
  updatedAt: z.number(),
});

/** Threads of the caller's workspace, newest first: every run of the user that is no reply. */
export const listThreads = operation({
  name: 'list_threads',
  route: null,
  input: z.strictObject({
    /** Only threads that began before this time. Used for paging. */
    before: z.number().optional(),
    limit: z.number().int().min(1).max(1_000).default(50),
    /** Threads of all workspaces. */
    everywhere: z.boolean().default(false),
  }),
  output: z.object({
    threads: z.array(ShownThread),
    /** Value of `before` for the next page. Null if there are no more. */
    next: z.number().nullable(),
  }),
  async run({ services, caller }, { before, limit, everywhere }) {
    const workspace = everywhere ? undefined : await services.workspaces.root(caller);
    const rows = await services.store.runs({ workspace, before, limit });
    const threads = rows.filter(isThread).map(run => ({
      ...{ thread: run.id, title: runSummary(run), workspace: run.workspace },
      updatedAt: run.endedAt ?? run.startedAt ?? run.createdAt,
    }));
    return { threads, next: rows.length === limit ? rows.at(-1)!.createdAt : null };
  },
});

const isThread = ({ id, lineageId, parentId, reviewOf, options }: Run): boolean =>
  lineageId === id && parentId === null && reviewOf === null && options.subagent === null;

const Member = z.object({ id: RunId, name: z.string(), title: z.string(), status: ShownStatus });

export const showThread = operation({
  name: 'show_thread',
  route: null,
  input: z.strictObject({ thread: RunId }),
  output: z.object({
    workspace: z.string(),
    /** Number of the last event that the answer includes. */
    last: z.number(),
    runs: z.array(
      z.object({
        id: RunId,
        task: z.string(),
        roleId: z.string().nullable(),
        status: ShownStatus,
        isOver: z.boolean(),
        turns: z.number(),
        told: z.array(z.object({ id: z.string(), text: z.string(), turn: z.number() })),
        error: RunError.nullable(),
        usage: Usage.nullable(),
        notes: z.array(z.string()),
      }),
    ),
    /** Runs that the thread's agents started, oldest first. */
    members: z.array(Member),
    /** Open questions for the user, of the thread's runs and their members. */
    asks: z.array(InboxItem),
  }),
  async run({ services, caller }, { thread }) {
    const { store, inbox, runner } = services;
    const last = (await store.events({ limit: 1, reverse: true }))[0]?.seq ?? 0;
    const runs = await runsOf(services, thread);
    if (runs.length === 0) await findRun(services, thread);
    await refuseOtherWorkspace(services, caller, runs[0]!);
    const below = (await Promise.all(runs.map(({ id }) => descendantsOf(store, id)))).flat();
    const members = await Promise.all(below.map(run => currentRun(services, run)));
    const ids = new Set([...runs, ...members].map(({ id }) => id));
    return {
      workspace: runs[0]!.workspace,
      last,
      runs: await Promise.all(
        runs.map(async run => ({
          ...{ id: run.id, task: run.task, roleId: run.roleId, status: shownStatus(run) },
          ...{ isOver: isEnd(run.status), turns: run.turn, error: run.error, notes: run.notes },
          usage: run.usage ?? runner.usageOf(run.id),
          told: await messagesTo(services, run.id),
        })),
      ),
      members: members
        // Members of one squad have the same creation time, so their position decides.
        .toSorted((a, b) => a.createdAt - b.createdAt || a.position - b.position)
        .map(run => ({ id: run.id, name: runName(run), title: runSummary(run), status: shownStatus(run) })),
      asks: inbox.open().filter(item => item.owner === 'user' && ids.has(item.runId)),
    };
  },
});

async function refuseOtherWorkspace(
  { workspaces }: Pick<Services, 'workspaces'>,
  caller: Caller,
  run: Run,
): Promise<void> {
  if ((await workspaces.root(caller)) === run.workspace) return;
  throw new SquadError('INVALID_INPUT', `${run.id} belongs to the folder ${run.workspace}`, {
    suggestions: ['Open the conversation in that folder.'],
  });
}

/** Something that an agent did, in a form that editors show. `at` is the byte offset of its line in the output. */
const Step = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('text'), at: z.number(), text: z.string() }),
  z.object({ kind: z.literal('note'), at: z.number(), text: z.string() }),
  z.object({
    ...{ kind: z.literal('tool'), at: z.number(), name: z.string(), detail: z.string(), edits: z.boolean() },
  }),
  z.object({ kind: z.literal('tool_end'), at: z.number(), name: z.string(), ok: z.boolean() }),
]);
export type Step = z.infer<typeof Step>;

const BYTES = 256 * 1024;

/** Reads the output of one turn as steps, from an offset on. */
export const readSteps = operation({
  name: 'read_steps',
  route: null,
  input: z.strictObject({ run: RunId, turn: z.number().int().min(1), offset: z.number().int().min(0) }),
  output: z.object({
    steps: z.array(Step),
    nextOffset: z.number(),
    /** True if the turn has ended and this page is its last. */
    isOver: z.boolean(),
    /** The answer of the run. Null unless this is the last page of its last turn. */
    answer: z.string().nullable(),
  }),
  async run({ services }, { run: given, turn, offset }) {
    const { files } = services;
    const run = await findRun(services, given);
    // The state is read before the page: if the run has ended by now, this page can be the last one.
    const { id, status, turn: lastTurn } = run;
    const reader = (await readerOf(services, run, turn))?.() ?? null;
    const page = await files.page({ runId: id, number: turn }, 'stdout', offset, BYTES, reader !== null);
    const isEnded = turn < lastTurn || isEnd(status);
    const whole = page.text.lastIndexOf('\n') + 1;
    const isLastPage = page.nextOffset >= page.size;
    // The last line may be half written. A line longer than a page cannot be an event, so it is skipped.
    const isTaken =
      whole === 0 ? isEnded || Buffer.byteLength(page.text) >= BYTES - 4 : isEnded && isLastPage;
    const text = reader === null || isTaken ? page.text : page.text.slice(0, whole);
    const nextOffset = text === page.text ? page.nextOffset : page.offset + Buffer.byteLength(text);
    const isOver = isEnded && nextOffset >= page.size;
    const steps: Step[] = [];
    if (reader === null) {
      if (text !== '') steps.push({ kind: 'text', at: page.offset, text });
    } else {
      let at = page.offset;
      for (const line of text.split('\n')) {
        steps.push(...reader.line(line).flatMap(event => stepsOf(event, at)));
        at += Buffer.byteLength(line) + 1;
      }
    }
    const answer = isOver && turn === lastTurn && isEnd(status) ? await files.answer(id) : null;
    return { steps, nextOffset, isOver, answer };
  },
});

function stepsOf(event: EngineEvent, at: number): Step[] {
  if (event.type === 'text') return [{ kind: 'text', at, text: event.text }];
  if (event.type === 'note') return [{ kind: 'note', at, text: event.text }];
  if (event.type === 'more_tools') return [{ kind: 'note', at, text: moreCalls(event) }];
  if (event.type === 'tool')
    return [{ kind: 'tool', at, name: event.name, detail: event.detail, edits: event.edits === true }];
  return event.type === 'tool_end' ? [{ kind: 'tool_end', at, name: event.name, ok: event.ok }] : [];
}
