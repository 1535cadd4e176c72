import type { OutputMatches, OutputQuery, OutputStream } from '../../core/ports/run-files.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';
import { engineWords, readerOf } from './engine-words.ts';

/** The lines of one output that have something in them; in the words of an engine's events where it has those and they are wanted. */
export async function searchTurn(
  services: Pick<Services, 'files' | 'engines'>,
  run: Run,
  { turn, stream, readable }: { turn: number; stream: OutputStream; readable: boolean },
  query: Omit<OutputQuery, 'words'>,
): Promise<OutputMatches> {
  const reader = readable && stream === 'stdout' ? await readerOf(services, run) : null;
  const inWords = reader && engineWords(reader());
  const words = inWords && ((line: string) => inWords(line).join(' ').replaceAll('\n', ' '));
  return services.files.search({ runId: run.id, number: turn }, stream, { ...query, words });
}
