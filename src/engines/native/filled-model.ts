import { fillUrl, namesIn, substitute } from '../../core/gateway/variables.ts';
import { SquadError } from '../../schema/error.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';

/** Replaces variables in the model's settings only here, so that no record of the run contains their values. */
export const filledModel = (model: ModelSpec, env: Readonly<Record<string, string>>): ModelSpec => ({
  ...model,
  baseUrl: model.baseUrl && filledAddress(model.baseUrl, env),
  headers: Object.fromEntries(
    Object.entries(model.headers).map(([name, text]) => [
      name,
      substitute(text, variable => env[variable] ?? ''),
    ]),
  ),
});

export const isVariableOf = ({ baseUrl, headers }: ModelSpec, variable: string): boolean =>
  [baseUrl ?? '', ...Object.values(headers)].flatMap(namesIn).includes(variable);

function filledAddress(address: string, env: Readonly<Record<string, string>>): string {
  const filled = fillUrl(address, name => env[name] ?? '');
  if ('fault' in filled)
    throw new SquadError('CONFIG_INVALID', `The address of the model (base_url) ${filled.fault}`, {
      suggestions: ['Check the variables in its base_url.'],
    });
  return filled.url;
}
