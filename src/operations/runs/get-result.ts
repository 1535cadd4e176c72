import { z } from 'zod';
import { jsonLength, longestStart } from '../../core/output/digest.ts';
import type { OutputPage, OutputStream, RunFiles } from '../../core/ports/run-files.ts';
import { total, turnSizes } from '../../core/runs/turn-limits.ts';
import { SquadError } from '../../schema/error.ts';
import type { Run } from '../../schema/run.ts';
import { shownStatus } from '../../schema/shown-status.ts';
import { reportFailure } from '../dispatch.ts';
import { operation, type Services } from '../operation.ts';
import { findRun, findSquad } from './find-runs.ts';
import { RESULT_LIMIT, RunEvidence, RunResult, runResult, squadResult, Tokens } from './run-result.ts';
import { waitForEndsOrAsks } from './wait.ts';

const PAGE_BYTES = 10_000;

const Page = z.object({
  stream: z.string(),
  offset: z.number(),
  next_offset: z.number(),
  size: z.number(),
  text: z.string(),
});

/**
 * One page of a run's output that fits into the reply. Offsets count bytes, and consecutive pages have no gap or
 * overlap.
 */
async function outputPage(
  { files }: Services,
  run: Run,
  stream: 'result' | OutputStream,
  offset: number,
): Promise<z.infer<typeof Page>> {
  if (stream === 'result') {
    const answer = await files.answer(run.id);
    if (answer !== null) return answerPage(answer, offset);
    if (run.outputIsEvents) return answerPage('', offset);
  }
  const source = stream === 'result' ? 'stdout' : stream;
  let bytes = PAGE_BYTES;
  let page = await pageOverTurns(files, run, source, offset, bytes);
  // A control character needs six characters of JSON, so a page full of them has to be shorter.
  while (jsonLength(page.text) > RESULT_LIMIT - 1_000 && bytes > 64) {
    bytes = Math.floor(bytes / 2);
    page = await pageOverTurns(files, run, source, offset, bytes);
  }
  return { stream, offset: page.offset, next_offset: page.nextOffset, size: page.size, text: page.text };
}

/** Reads all turns as if they had written into one file, so that consecutive offsets miss nothing. */
async function pageOverTurns(
  files: RunFiles,
  { id: runId, turn: last }: Run,
  stream: OutputStream,
  offset: number,
  bytes: number,
): Promise<OutputPage> {
  if (last === 1) return files.page({ runId, number: 1 }, stream, offset, bytes);
  const sizes = await turnSizes(files, runId, last, stream);
  const size = total(sizes);
  const from = Math.max(0, Math.min(size, offset < 0 ? size + offset : offset));
  let [number, before] = [1, 0];
  while (number < last && from >= before + sizes[number - 1]!) before += sizes[number++ - 1]!;
  const page = await files.page({ runId, number }, stream, from - before, bytes);
  return { ...page, offset: page.offset + before, nextOffset: page.nextOffset + before, size };
}

function answerPage(answer: string, offset: number): z.infer<typeof Page> {
  const bytes = Buffer.from(answer);
  const isInside = (at: number) => at < bytes.length && (bytes[at]! & 0xc0) === 0x80;
  let from = Math.min(Math.max(0, offset < 0 ? bytes.length + offset : offset), bytes.length);
  while (isInside(from)) from++;
  let until = Math.min(from + PAGE_BYTES, bytes.length);
  while (isInside(until)) until--;
  const text = longestStart(bytes.toString('utf8', from, until), PAGE_BYTES);
  return {
    stream: 'result',
    offset: from,
    next_offset: from + Buffer.byteLength(text),
    size: bytes.length,
    text,
  };
}

const loose = z.looseObject({});
/** All fields are optional, because the result may be that of a run, a page of it, or that of a squad. */
const either = {
  page: Page.partial().optional(),
  squadId: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  members: z.array(loose).optional(),
  nextOffset: z.number().optional(),
  note: z.string().optional(),
};

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
        suggestions: ['list_running shows the ids of running runs.'],
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
  new SquadError(
    'INVALID_INPUT',
    'stream and a negative offset can only be used for a run, not for a squad',
    {
      suggestions: ['Use them with spawn_id (a memberId). With squad_id, offset counts members.'],
    },
  );
