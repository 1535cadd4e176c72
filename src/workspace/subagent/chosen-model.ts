import { nearest } from '../../core/nearest.ts';
import type { SubagentDefaults, SubagentModel } from '../../schema/subagent-file.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

/** A model of the file's list, with its place there. */
export interface ListedModel {
  model: SubagentModel;
  path: Path;
}

/** The model that `defaults` names; null, and said, when there is none. */
export function chosenModel(
  models: readonly ListedModel[],
  /** Refs as they are written, also of models that are wrong otherwise. */
  refs: readonly string[],
  defaults: SubagentDefaults,
  findings: Findings,
): ListedModel | null {
  const path = ['defaults', 'model'];
  const refuse = (message: string, suggestion: string) => {
    findings.error(path, message, { code: 'MODEL_NOT_SET', suggestion });
    return null;
  };
  if (refs.length === 0)
    return refuse('there are no models', 'List one under "models", with ref, id and type.');
  if (!defaults.model)
    return refuse(
      '"defaults.model" is missing: nothing says which model to use',
      `Add "model: ${refs[0]}" under "defaults".`,
    );
  if (!refs.includes(defaults.model)) {
    const near = nearest(defaults.model, refs);
    return refuse(
      `no model has the ref "${defaults.model}"`,
      near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The models are: ${refs.join(', ')}.`,
    );
  }
  return models.find(({ model }) => model.ref === defaults.model) ?? null;
}
