import type { Engine, EngineEvent, EngineReader } from '../../core/ports/engine.ts';
import { keptPlan } from '../../core/runs/kept-plan.ts';
import { moreCalls } from '../../schema/more-calls.ts';
import type { Run } from '../../schema/run.ts';
import type { Services } from '../operation.ts';

/** Null: its engine has no events, its output is words already. */
export async function readerOf(
  { files, engines }: Pick<Services, 'files' | 'engines'>,
  run: Run,
): Promise<Engine['reader']> {
  const kept = await keptPlan(files, run);
  return kept && engines.create(kept.spec).reader;
}

/** What an engine's output line says, for people. */
export const engineWords =
  (reader: EngineReader) =>
  (line: string): string[] =>
    reader.line(line).map(inWords).filter(Boolean);

function inWords(event: EngineEvent): string {
  if (event.type === 'text') return event.text;
  if (event.type === 'tool') return `» ${event.name} ${event.detail}`;
  if (event.type === 'more_tools') return `» ${moreCalls(event)}`;
  if (event.type === 'note') return `· ${event.text}`;
  if (event.type === 'end' && !event.ok) return `✗ ${event.error ?? 'failed'}`;
  return '';
}
