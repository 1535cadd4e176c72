import { z } from 'zod';
import { fitTexts, jsonLength, longestStart } from '../core/digest.ts';
import type { OutputStream } from '../core/ports.ts';
import { isEnd, type Run } from '../schema/run.ts';
import { answerSample, RESULT_LIMIT } from './member-result.ts';
import type { Services } from './operation.ts';

const PAGE_BYTES = 10_000;
const RESULT_TEXT = 9_500;
const LONGEST_ERROR = 1_000;

export const Tokens = z.object({
  input: z.number().nullable(),
  output: z.number().nullable(),
  cached: z.number().nullable(),
});
/** Null until the run has ended: nobody has looked yet. */
export const Evidence = z.object({
  exit_code: z.number().nullable(),
  leftovers_killed: z.number().nullable(),
});

/** One run's result. What the engine does not report is null: never a 0 that looks measured. */
export const RunResult = z.object({
  spawn_id: z.string(),
  squad_id: z.string(),
  role_id: z.string().nullable(),
  status: z.string(),
  success: z.boolean().nullable(),
  result: z.string().nullable(),
  duration_seconds: z.number().nullable(),
  cost_usd: z.number().nullable(),
  model: z.string().nullable(),
  tokens: Tokens.nullable(),
  usage_source: z.enum(['reported', 'none']),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  evidence: Evidence,
  truncated: z.boolean().optional(),
  output_file: z.string().optional(),
});
export type RunResult = z.infer<typeof RunResult>;

export async function runResult({ files, store, clock }: Services, live: Run): Promise<RunResult> {
  // As it is now: it changes while its turns are read, and an end must not be told without its facts.
  const run = { ...live };
  const turn = (await store.turns(run.id)).at(-1);
  const over = isEnd(run.status);
  const [answer] = fitTexts([await answerSample(files, run)], RESULT_TEXT);
  return {
    spawn_id: run.id,
    squad_id: run.squadId,
    role_id: run.roleId,
    status: run.status,
    success: over ? run.status === 'completed' : null,
    result: over ? answer!.text : null,
    duration_seconds: run.startedAt === null ? null : ((run.endedAt ?? clock.now()) - run.startedAt) / 1000,
    cost_usd: run.usage?.costUsd ?? null,
    model: run.model,
    tokens: run.usage && { input: run.usage.input, output: run.usage.output, cached: run.usage.cached },
    usage_source: run.usage ? 'reported' : 'none',
    ...(run.error && {
      error: { code: run.error.code, message: longestStart(run.error.message, LONGEST_ERROR) },
    }),
    evidence: {
      exit_code: turn?.exitCode ?? null,
      leftovers_killed: over ? (turn?.leftovers.length ?? 0) : null,
    },
    ...(over &&
      answer!.truncated && {
        truncated: true,
        output_file: files.outputPath({ runId: run.id, number: 1 }, 'stdout'),
      }),
  };
}

export const Page = z.object({
  stream: z.string(),
  offset: z.number(),
  next_offset: z.number(),
  size: z.number(),
  text: z.string(),
});

/** One page of what a run wrote, sized so that the reply fits. Offsets count bytes, and pages meet without gap or overlap. */
export async function outputPage(
  { files }: Services,
  run: Run,
  stream: 'result' | OutputStream,
  offset: number,
) {
  if (stream === 'result') {
    const answer = await files.answer(run.id);
    if (answer !== null) return answerPage(answer, offset);
  }
  const source = stream === 'result' ? 'stdout' : stream;
  const turn = { runId: run.id, number: 1 };
  let bytes = PAGE_BYTES;
  let page = await files.page(turn, source, offset, bytes);
  // Control characters take six characters of JSON each: a page full of them has to be shorter.
  while (jsonLength(page.text) > RESULT_LIMIT - 1_000 && bytes > 64) {
    bytes = Math.floor(bytes / 2);
    page = await files.page(turn, source, offset, bytes);
  }
  return { stream, offset: page.offset, next_offset: page.nextOffset, size: page.size, text: page.text };
}

function answerPage(answer: string, offset: number) {
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
