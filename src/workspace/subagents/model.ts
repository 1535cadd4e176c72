import { fillUrl } from '../../core/gateway/url-variables.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import type { SubagentDefaults } from '../../schema/subagent-file.ts';
import type { SubagentModel } from '../../schema/subagent-model.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import { keyVariableOf } from './key-variable.ts';
import { mergedGeneration } from './merged-generation.ts';
import { PROVIDERS } from './providers.ts';
import { warnOfUnusedModelSettings } from './unused-settings.ts';
import { areSet, inOneForm, type Variables } from './variables.ts';
import type { Path } from './yaml-source.ts';

/** What it is asked with; null when something is missing for that, which is said. */
export function modelSpecOf(
  { model, path }: ListedModel,
  defaults: Partial<SubagentDefaults>,
  variables: Variables,
  findings: Findings,
): ModelSpec | null {
  warnOfUnusedModelSettings(model, path, findings);
  const headers = headersOf(model, path, variables, findings);
  const generation = mergedGeneration({ model, path }, defaults, findings);
  const prices = pricesOf(model, path, findings);
  if (model.type === undefined) return null;
  const provider = PROVIDERS[model.type];
  const address = checkedAddress(model, path, variables, findings);
  const apiKeyEnv = keyVariableOf(model, path, provider, address, variables, findings);
  if (model.id === undefined) return null;
  // Values of variables are filled in by who sends them, and are written nowhere before.
  const baseUrl = model.base_url ? inOneForm(model.base_url, variables) : provider.baseUrl;
  return { type: provider.type, id: model.id, baseUrl, apiKeyEnv, headers, generation, prices };
}

/** What its address is with every value in place, only to be looked at; null: it gives none, or one that cannot be. */
function checkedAddress(
  { base_url: given }: Partial<SubagentModel>,
  path: Path,
  variables: Variables,
  findings: Findings,
): string | null {
  if (!given) return null;
  const at = [...path, 'base_url'];
  const form = inOneForm(given, variables);
  if (!areSet(form, at, variables, findings)) return null;
  const filled = fillUrl(form, name => variables.env[name] ?? '');
  if ('fault' in filled) {
    findings.error(at, `"${at.join('.')}" ${filled.fault}`);
    return null;
  }
  const { protocol } = URL.parse(filled.url) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:')
    findings.error(at, `"${at.join('.')}" is not an http or https URL`);
  return filled.url;
}

function headersOf(
  { patchRequest }: Partial<SubagentModel>,
  path: Path,
  variables: Variables,
  findings: Findings,
): Record<string, string> {
  const at = [...path, 'patchRequest', 'includeHeaders'];
  return Object.fromEntries(
    Object.entries(patchRequest?.includeHeaders ?? {}).map(([name, value]) => {
      const form = inOneForm(value, variables);
      areSet(form, [...at, name], variables, findings);
      return [name, form];
    }),
  );
}

function pricesOf(model: Partial<SubagentModel>, path: Path, findings: Findings): ModelSpec['prices'] {
  const { input_cost_per_million: input, output_cost_per_million: output } = model;
  if (input === undefined && output === undefined) return null;
  if (input === undefined || output === undefined) {
    findings.warn(path, `the model "${model.ref}" has one of its two prices, so its cost is not worked out`);
    return null;
  }
  const { cache_read_cost_per_million: cacheRead, cache_write_cost_per_million: cacheWrite } = model;
  return { input, output, cacheRead: cacheRead ?? null, cacheWrite: cacheWrite ?? null };
}
