import { nearest } from '../../core/nearest.ts';
import type { ModelSpec } from '../../schema/model-spec.ts';
import type { SubagentDefaults, SubagentModel } from '../../schema/subagent-file.ts';
import type { Findings } from './findings.ts';
import { generationOf } from './generation.ts';
import { isLocal, PROVIDERS, type Provider } from './providers.ts';
import { areSet, filled, inOneForm, type Variables } from './variables.ts';
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
  warnOfUnused(model, path, findings);
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

function keyVariableOf(
  { api_key_env: given, auth_method: method, base_url: address }: SubagentModel,
  path: Path,
  { host, keyVariable }: Provider,
  baseUrl: string | null,
  { env }: Variables,
  findings: Findings,
): string | null {
  const asked = URL.parse(baseUrl ?? '')?.hostname ?? host;
  const at = [...path, 'api_key_env'];
  // A key is for the provider it was made for: nobody else is sent it unless the file says so.
  const name = given || (address && asked !== host ? null : keyVariable);
  if (method && !/^api_?key$/i.test(method))
    findings.warn(
      [...path, 'auth_method'],
      `"${method}" is not there in Squad: ${name === null ? 'no key is sent' : `the key in ${name} is used instead`}`,
    );
  if (name === null) {
    if (!isLocal(asked))
      findings.warn([...path, 'base_url'], `no key is sent to ${asked}: there is no "api_key_env"`, {
        suggestion: 'Add "api_key_env" with the name of the variable that holds the key, if it wants one.',
      });
    return null;
  }
  if (/\W/.test(name) || !env[name])
    findings.error(given ? at : path, whyNot(name), {
      code: 'API_KEY_MISSING',
      suggestion: /\W/.test(name)
        ? 'Put the key into a variable, and the name of that variable here.'
        : `Set ${name} in the environment of the program that starts Squad (its "env" in the client's configuration).`,
    });
  return name;
}

/** What is no name of a variable may be the key itself: it is not repeated. */
const whyNot = (name: string): string =>
  /\W/.test(name)
    ? '"api_key_env" is not the name of a variable'
    : `the API key is missing: the variable ${name} is not set`;

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

function warnOfUnused(model: SubagentModel, path: Path, findings: Findings): void {
  if (model.patchRequest?.jsonPatch)
    findings.warn(
      [...path, 'patchRequest', 'jsonPatch'],
      '"jsonPatch" has no effect: requests to the model go out unchanged',
    );
  if (model.mcpServers)
    findings.warn([...path, 'mcpServers'], '"mcpServers" of a model have no effect', {
      suggestion: 'Put them at the top of the file.',
    });
  if (model.timeout)
    findings.warn([...path, 'timeout'], '"timeout" of a model has no effect', {
      suggestion: 'Put it under "defaults".',
    });
  if (model.compaction) findings.warn([...path, 'compaction'], NO_COMPACTION);
}

export const NO_COMPACTION =
  '"compaction" has no effect: a conversation is never shortened; one that outgrows the model fails';
