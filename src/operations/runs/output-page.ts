import { z } from 'zod';
import { jsonLength, longestStart } from '../../core/output/digest.ts';
import type { OutputPage, OutputStream, RunFiles } from '../../core/ports/run-files.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { RESULT_LIMIT } from './member-result.ts';

const PAGE_BYTES = 10_000;

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
): Promise<z.infer<typeof Page>> {
  if (stream === 'result') {
    const answer = await files.answer(run.id);
    if (answer !== null) return answerPage(answer, offset);
    if (run.outputIsEvents) return answerPage('', offset);
  }
  const source = stream === 'result' ? 'stdout' : stream;
  let bytes = PAGE_BYTES;
  let page = await pageOverTurns(files, run, source, offset, bytes);
  // Control characters take six characters of JSON each: a page full of them has to be shorter.
  while (jsonLength(page.text) > RESULT_LIMIT - 1_000 && bytes > 64) {
    bytes = Math.floor(bytes / 2);
    page = await pageOverTurns(files, run, source, offset, bytes);
  }
  return { stream, offset: page.offset, next_offset: page.nextOffset, size: page.size, text: page.text };
}

/** As if its turns had written one after the other into one file: whoever follows the offsets misses none. */
async function pageOverTurns(
  files: RunFiles,
  { id: runId, turn: last }: Run,
  stream: OutputStream,
  offset: number,
  bytes: number,
): Promise<OutputPage> {
  if (last === 1) return files.page({ runId, number: 1 }, stream, offset, bytes);
  const numbers = Array.from({ length: last }, (_, at) => at + 1);
  const sizes = await Promise.all(numbers.map(number => files.size({ runId, number }, stream)));
  const size = sizes.reduce((sum, each) => sum + each, 0);
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
