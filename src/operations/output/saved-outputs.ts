import { z } from 'zod';
import { sizeWords } from '../../base/size-words.ts';
import type { OutputStream } from '../../core/ports/run-files.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { engineWords, readerOf } from './engine-words.ts';

/** What a turn wrote, or its end. */
export const SavedOutput = z.object({
  turn: z.number(),
  stream: z.enum(['stdout', 'stderr']),
  text: z.string(),
  /** Which line it begins with, from 1; null: so far into it that nobody counted. */
  firstLine: z.number().nullable(),
  /** Bytes before it. */
  leftOut: z.number(),
  /** What each of its lines says to people, if anything; null: the lines themselves are words. */
  words: z.array(z.string().nullable()).nullable(),
});
export type SavedOutput = z.infer<typeof SavedOutput>;

const MOST_OF_ONE = 5 * 1024 * 1024;
const MOST_OF_ALL = 40 * 1024 * 1024;
const COUNT_MS = 2_000;

/** Of every turn, the newest first: when there is no more room, it is older ones that are left out. */
export async function savedOutputs(
  services: Services,
  run: Run,
): Promise<{ outputs: SavedOutput[]; leftOut: string[] }> {
  const outputs: SavedOutput[] = [];
  const leftOut: string[] = [];
  let room = MOST_OF_ALL;
  for (let turn = run.turn; turn >= 1; turn--)
    for (const stream of ['stdout', 'stderr'] as const) {
      const output = await savedOutput(services, { run, turn, stream, room: Math.min(room, MOST_OF_ONE) });
      room -= Buffer.byteLength(output.text);
      outputs.push(output);
      if (output.leftOut > 0)
        leftOut.push(
          `${output.text === '' ? 'all' : 'the first'} ${sizeWords(output.leftOut)} of ${stream} of turn ${turn}`,
        );
    }
  return { outputs, leftOut };
}

interface Wanted {
  run: Run;
  turn: number;
  stream: OutputStream;
  room: number;
}

async function savedOutput(services: Services, { run, turn, stream, room }: Wanted): Promise<SavedOutput> {
  const { files } = services;
  const key = { runId: run.id, number: turn };
  if (room < 1)
    return { turn, stream, text: '', firstLine: null, leftOut: await files.size(key, stream), words: null };
  const { text, offset } = await files.page(key, stream, -room, room, true);
  const { line } = await files.lineAt(key, stream, offset, COUNT_MS);
  const reader = stream === 'stdout' ? await readerOf(services, run) : null;
  return {
    ...{ turn, stream, text },
    firstLine: offset === 0 ? 1 : line,
    leftOut: offset,
    words: reader && wordsOf(text, engineWords(reader())),
  };
}

/** One for each whole line. */
const wordsOf = (text: string, words: (line: string) => string[]): (string | null)[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map(line => words(line).join('\n') || null);
