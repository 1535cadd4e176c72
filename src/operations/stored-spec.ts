import type { RunFiles } from '../core/ports.ts';
import { parseJson } from '../core/text.ts';
import { EngineSpec } from '../schema/engine-spec.ts';
import type { RunId } from '../schema/ids.ts';

/** The engine a run was started with; null when that cannot be read any more. */
export async function storedSpec(files: RunFiles, runId: RunId): Promise<EngineSpec | null> {
  const text = await files.read({ runId, number: 1 }, 'engine.json');
  const spec = EngineSpec.safeParse(text === null ? null : parseJson(text));
  return spec.success ? spec.data : null;
}
