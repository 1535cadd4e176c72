import { nearest } from '../../base/nearest.ts';
import type { SubagentModel } from '../../schema/subagent-model.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

/** A model of the file's list, with its place there. */
export interface ListedModel {
  /** What of it has its form. */
  model: Partial<SubagentModel>;
  path: Path;
}

/** The model that `defaults` names; null, and said, when there is none. */
export function chosenModel(
  models: readonly ListedModel[],
  /** Refs as they are written, also of models that are wrong otherwise. */
  refs: readonly string[],
  wanted: string | undefined,
  findings: Findings,
): ListedModel | null {
  const path = ['defaults', 'model'];
  const refuse = (message: string, suggestion: string) => {
    findings.error(path, message, { code: 'MODEL_NOT_SET', suggestion });
    return null;
  };
  if (refs.length === 0)
    return refuse('there are no models', 'List one under "models", with ref, id and type.');
  if (!wanted)
    return refuse(
      '"defaults.model" is missing: nothing says which model to use',
      `Add "model: ${refs[0]}" under "defaults".`,
    );
  if (!refs.includes(wanted)) {
    const near = nearest(wanted, refs);
    return refuse(
      `no model has the ref "${wanted}"`,
      near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The models are: ${refs.join(', ')}.`,
    );
  }
  return models.find(({ model }) => model.ref === wanted) ?? null;
}
