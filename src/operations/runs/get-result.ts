import { z } from 'zod';
import { SquadError } from '../../schema/error.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { operation } from '../operation.ts';
import { reportFailure } from '../report-failure.ts';
import { findRun, findSquad } from './find.ts';
import { squadResult } from './member-result.ts';
import { outputPage, Page } from './output-page.ts';
import { RunEvidence } from './run-evidence.ts';
import { RunResult, runResult, Tokens } from './run-result.ts';
import { waitForEndsOrAsks } from './wait-or-asks.ts';

const loose = z.looseObject({});
/** Whichever was asked for, so nothing is always there: a run's result, a page of it, or a squad's. */
const either = {
  page: Page.partial().optional(),
  squadId: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  members: z.array(loose).optional(),
  nextOffset: z.number().optional(),
  note: z.string().optional(),
};
const { asks, ...shortResult } = RunResult.partial().shape;
const listed = z.object({
  ...shortResult,
  tokens: loose.nullable().optional(),
  usage_source: z.string().optional(),
  evidence: loose.optional(),
  error: loose.optional(),
  ...either,
  page: z.looseObject({ next_offset: z.number() }).optional(),
});

export const getResult = operation({
  name: 'get_result',
  route: 'POST /tools/get_result',
  agents: 'spawn',
  tool: {
    title: 'Get result',
    description:
      'Status and result of a run (spawn_id = memberId) or a squad, also after a restart. wait_seconds waits for the end. ' +
      'stream and offset page through long output: go on with next_offset.',
    readOnly: true,
    listed: { output: listed },
  },
  input: z.strictObject({
    spawn_id: z.string().optional(),
    squad_id: z.string().optional(),
    wait_seconds: z.number().min(0).max(3600).optional(),
    stream: z.enum(['result', 'stdout', 'stderr']).optional(),
    offset: z.number().int().optional(),
  }),
  output: z.object({
    ...RunResult.partial().shape,
    tokens: Tokens.partial().nullable().optional(),
    evidence: RunEvidence.partial().optional(),
    ...either,
  }),
  async run(call, { spawn_id, squad_id, wait_seconds = 0, stream, offset = 0 }) {
    const { services } = call;
    if ((spawn_id === undefined) === (squad_id === undefined))
      throw new SquadError('INVALID_INPUT', 'Give either spawn_id or squad_id', {
        suggestions: ['list_running shows the ids of what runs now.'],
      });
    const wanted = wait_seconds * 1000;
    const wait = call.waitMs === null ? wanted : Math.min(wanted, call.waitMs);
    if (squad_id !== undefined) {
      if (stream !== undefined || offset < 0) throw notOfASquad();
      const { squad, runs } = await findSquad(services, squad_id);
      await waitForEndsOrAsks(call, runs, wait);
      reportFailure(call, runs);
      return squadResult(services, squad, runs, { ...call, offset });
    }
    const run = await findRun(services, spawn_id!);
    await waitForEndsOrAsks(call, [run], wait);
    if (stream === undefined && offset === 0) {
      reportFailure(call, [run]);
      return runResult(services, run, call);
    }
    return {
      spawn_id: run.id,
      status: shownStatus(run),
      page: await outputPage(services, run, stream ?? 'result', offset),
    };
  },
});

const notOfASquad = () =>
  new SquadError('INVALID_INPUT', 'stream and an offset from the end are of a run, not of a squad', {
    suggestions: ['Give spawn_id (a memberId) with them; with squad_id, offset counts members.'],
  });
