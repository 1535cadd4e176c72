import { namesIn, substitute } from '../../core/gateway/substitution.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';

/** The values of variables are put into headers here and nowhere before, so that no record of the run has them. */
export const withFilledHeaders = (model: ModelSpec, env: Readonly<Record<string, string>>): ModelSpec => ({
  ...model,
  headers: Object.fromEntries(
    Object.entries(model.headers).map(([name, text]) => [
      name,
      substitute(text, variable => env[variable] ?? ''),
    ]),
  ),
});

export const isInHeaders = ({ headers }: ModelSpec, variable: string): boolean =>
  Object.values(headers).flatMap(namesIn).includes(variable);
