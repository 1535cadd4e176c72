import type { EngineReader } from '../core/ports/engine.ts';
import type { ParserKind } from '../schema/engine-spec.ts';
import { cliProfile } from './cli-profiles.ts';
import { parseEventLine } from './scripted/event-line.ts';

/** The reader of a kind of event lines; null when output means nothing to Squad. */
export function readerOf(kind: ParserKind): (() => EngineReader) | null {
  if (kind === 'text') return null;
  if (kind === 'squad') return () => ({ line: parseEventLine });
  return () => cliProfile(kind).reader();
}
