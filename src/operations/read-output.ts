import { z } from 'zod';
import { keptPlan } from '../core/kept-plan.ts';
import type { Engine, EngineEvent, EngineReader } from '../core/ports/engine.ts';
import type { OutputPage } from '../core/ports/run-files.ts';
import { isEnd, type Run, RunStatus } from '../schema/run.ts';
import { findRun } from './find.ts';
import { operation, type Services } from './operation.ts';

const BYTES = 256 * 1024;

/** What a run wrote, by byte range: for the terminal and the page, which may have as much as they ask for. */
export const readOutput = operation({
  name: 'read_output',
  tool: null,
  input: z.strictObject({
    run: z.string(),
    /** Its newest unless said otherwise. */
    turn: z.number().int().min(1).optional(),
    stream: z.enum(['stdout', 'stderr']).default('stdout'),
    offset: z.number().int().default(0),
    limit: z.number().int().min(1).max(BYTES).default(BYTES),
    /** An engine's event lines as words; engines without any are raw either way. */
    readable: z.boolean().default(false),
  }),
  output: z.object({
    runId: z.string(),
    status: RunStatus,
    isOver: z.boolean(),
    turn: z.number(),
    /** The newest there is. */
    lastTurn: z.number(),
    text: z.string(),
    offset: z.number(),
    nextOffset: z.number(),
    size: z.number(),
  }),
  async run({ services }, { run: given, turn: asked, stream, offset, limit, readable }) {
    const run = await findRun(services, given);
    // Read before the page: an end seen here means the page after it is the last.
    const { status, turn: lastTurn } = run;
    const turn = asked ?? lastTurn;
    const page = await services.files.page({ runId: run.id, number: turn }, stream, offset, limit);
    const reader = readable && stream === 'stdout' ? await readerFor(services, run) : null;
    return {
      runId: run.id,
      status,
      isOver: isEnd(status),
      turn,
      lastTurn,
      ...(reader ? inWords(page, reader(), limit) : page),
    };
  },
});

async function readerFor({ files, engines }: Services, run: Run): Promise<Engine['reader']> {
  const kept = await keptPlan(files, run);
  return kept && engines.create(kept.spec).reader;
}

/** Whole lines only: the next page begins where the last unfinished one does. */
function inWords(page: OutputPage, reader: EngineReader, limit: number): OutputPage {
  const end = page.text.lastIndexOf('\n') + 1;
  // A line longer than a page is no event of ours: passed over.
  if (end === 0)
    return {
      ...page,
      text: '',
      nextOffset: Buffer.byteLength(page.text) >= limit - 4 ? page.nextOffset : page.offset,
    };
  const whole = page.text.slice(0, end);
  const text = whole
    .split('\n')
    .flatMap(line => reader.line(line).map(words))
    .filter(Boolean);
  return {
    ...page,
    text: text.map(line => `${line}\n`).join(''),
    nextOffset: page.offset + Buffer.byteLength(whole),
  };
}

function words(event: EngineEvent): string {
  if (event.type === 'text') return event.text;
  if (event.type === 'tool') return `» ${event.name} ${event.detail}`;
  if (event.type === 'note') return `· ${event.text}`;
  if (event.type === 'end' && !event.ok) return `✗ ${event.error ?? 'failed'}`;
  return '';
}
