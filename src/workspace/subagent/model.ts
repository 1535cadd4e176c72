import { nearest } from '../../core/nearest.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import type { SubagentDefaults, SubagentModel } from '../../schema/subagent-file.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import { generationOf } from './generation.ts';
import { keyVariableOf } from './key-variable.ts';
import { PROVIDERS, type Provider } from './providers.ts';
import { warnOfUnusedModelSettings } from './unused-settings.ts';
import { areSet, filled, inOneForm, type Variables } from './variables.ts';
import type { Path } from './yaml-source.ts';

/** What it is asked with; null, and said, when something is missing for that. */
export function modelSpecOf(
  { model, path }: ListedModel,
  defaults: SubagentDefaults,
  variables: Variables,
  findings: Findings,
): ModelSpec | null {
  const provider = providerOf(model.type);
  if (!provider) {
    const known = Object.keys(PROVIDERS);
    const near = nearest(model.type, known);
    findings.error([...path, 'type'], `"${model.type}" is not a type of model that Squad knows`, {
      suggestion: `${near.length > 0 ? `Did you mean ${near.join(', ')}? ` : ''}The types are ${known.join(', ')}. What speaks OpenAI's format is "openai" with its base_url.`,
    });
    return null;
  }
  warnOfUnusedModelSettings(model, path, findings);
  const baseUrl = addressOf(model, path, provider, variables, findings);
  const headers = headersOf(model, path, variables, findings);
  return {
    type: provider.type,
    id: model.id,
    baseUrl,
    apiKeyEnv: keyVariableOf(model, path, provider, baseUrl, variables, findings),
    headers,
    generation: generationOf({ model, path }, defaults, findings),
    prices: pricesOf(model, path, findings),
  };
}

const providerOf = (type: string): Provider | undefined =>
  Object.hasOwn(PROVIDERS, type.toLowerCase()) ? PROVIDERS[type.toLowerCase()] : undefined;

function addressOf(
  { base_url: given }: SubagentModel,
  path: Path,
  { baseUrl }: Provider,
  variables: Variables,
  findings: Findings,
): string | null {
  if (!given) return baseUrl;
  const at = [...path, 'base_url'];
  const url = filled(given, at, variables, findings);
  if (url === null) return null;
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:')
    findings.error(at, `"${at.join('.')}" is not an http or https URL`);
  return url;
}

function headersOf(
  { patchRequest }: SubagentModel,
  path: Path,
  variables: Variables,
  findings: Findings,
): Record<string, string> {
  const at = [...path, 'patchRequest', 'includeHeaders'];
  return Object.fromEntries(
    Object.entries(patchRequest?.includeHeaders ?? {}).map(([name, value]) => {
      // Their values are filled in by who sends them, and are written nowhere before.
      const form = inOneForm(value, variables);
      areSet(form, [...at, name], variables, findings);
      return [name, form];
    }),
  );
}

function pricesOf(model: SubagentModel, path: Path, findings: Findings): ModelSpec['prices'] {
  const { input_cost_per_million: input, output_cost_per_million: output } = model;
  if (input === undefined && output === undefined) return null;
  if (input === undefined || output === undefined) {
    findings.warn(path, `the model "${model.ref}" has one of its two prices, so its cost is not worked out`);
    return null;
  }
  const { cache_read_cost_per_million: cacheRead, cache_write_cost_per_million: cacheWrite } = model;
  return { input, output, cacheRead: cacheRead ?? null, cacheWrite: cacheWrite ?? null };
}
