import { randomUUID } from 'node:crypto';
import {
  acceptedContent,
  type InputRequests,
  inputRequired,
  MissingRequiredClientCapabilityError,
} from '@modelcontextprotocol/server';
import { SquadError } from '../../src/schema/error.ts';
import type { Call, Face, FinalToolResult, ToolResult } from '../../src/wire/face/face.ts';
import { TASKS, type TaskState } from '../../src/wire/face/face-tasks.ts';
import { text } from './content.ts';
import type { FixtureTool } from './plain-tools.ts';

const say = (value: string, isError = false): FinalToolResult => ({
  raw: { content: [text(value)], isError },
});

type End = { status: 'completed'; result: FinalToolResult } | { status: 'failed'; error: unknown };

interface Job {
  createdAt: number;
  changedAt: number;
  asks: InputRequests;
  end: End | { status: 'cancelled' } | null;
  timer?: NodeJS.Timeout;
}

/** Tools that the official runner expects to continue as tasks, and these tasks. */
export function taskTools(): { tools: Record<string, FixtureTool>; tasks: NonNullable<Face['tasks']> } {
  const jobs = new Map<string, Job>();

  function open(asks: InputRequests): [string, Job] {
    const id = randomUUID();
    const now = Date.now();
    const job: Job = { createdAt: now, changedAt: now, asks, end: null };
    jobs.set(id, job);
    return [id, job];
  }

  function start(seconds: number, end: End): ToolResult {
    const [id, job] = open({});
    job.timer = setTimeout(() => settle(job, end), seconds * 1000).unref();
    return { task: stateOf(id, job) };
  }

  const startAsking = (asks: InputRequests): ToolResult => ({ task: stateOf(...open(asks)) });

  const stateNow = async (id: string) => {
    const job = jobs.get(id);
    return job ? stateOf(id, job) : null;
  };

  const needsTask =
    (run: FixtureTool): FixtureTool =>
    async (args, call) => {
      if (call.acceptsTasks) return run(args, call);
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: { [TASKS]: {} } },
      });
    };

  return {
    tools: {
      greet: async args => say(`Hello, ${args.name}!`),
      slow_compute: async (args, call) => {
        const done = say(`Computed ${args.label}.`);
        if (!call.acceptsTasks) return done;
        return start(Number(args.seconds), { status: 'completed', result: done });
      },
      failing_job: needsTask(async () =>
        start(1, { status: 'completed', result: say('The job went wrong.', true) }),
      ),
      protocol_error_job: needsTask(async () =>
        start(0, { status: 'failed', error: new SquadError('INTERNAL', 'The job broke.') }),
      ),
      confirm_delete: needsTask(async args => startAsking({ confirm: form(`Delete ${args.filename}?`) })),
      multi_input: needsTask(async () => startAsking({ first: form('First?'), second: form('Second?') })),
      test_tool_with_task: needsTask(async (_args, call) => {
        const name = givenName(call);
        if (name === undefined)
          return { raw: inputRequired({ inputRequests: { user_name: form('Your name?') } }) };
        return start(0, { status: 'completed', result: say(`Hello, ${name}!`) });
      }),
    },
    tasks: {
      get: stateNow,
      wait: stateNow,
      cancel: async id => {
        const job = jobs.get(id);
        if (job) settle(job, { status: 'cancelled' });
        return job !== undefined;
      },
      answer: async (id, responses) => {
        const job = jobs.get(id);
        if (!job) return false;
        const asked = Object.keys(job.asks).length;
        for (const key of Object.keys(responses)) delete job.asks[key];
        if (asked > 0 && Object.keys(job.asks).length === 0) {
          settle(job, { status: 'completed', result: say('Thank you.') });
        }
        return true;
      },
    },
  };
}

function settle(job: Job, end: NonNullable<Job['end']>): void {
  if (job.end) return;
  clearTimeout(job.timer);
  job.end = end;
  job.changedAt = Date.now();
}

function stateOf(id: string, job: Job): TaskState {
  const facts = {
    id,
    createdAt: job.createdAt,
    lastUpdatedAt: job.changedAt,
    ttlMs: 3_600_000,
    pollIntervalMs: 100,
  };
  if (job.end) return { ...facts, ...job.end };
  if (Object.keys(job.asks).length > 0) {
    return { ...facts, status: 'input_required', inputRequests: { ...job.asks } };
  }
  return { ...facts, status: 'working' };
}

const form = (message: string) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  });

const givenName = (call: Call) =>
  acceptedContent<{ name?: string }>(call.raw.mcpReq.inputResponses, 'user_name')?.name;
