import { nearest } from '../../base/text.ts';
import { fillUrl } from '../../core/gateway/variables.ts';
import type { GenerationOptions, ModelSpec, ModelType } from '../../schema/model-spec.ts';
import type { GenerationParams, SubagentDefaults, SubagentModel } from '../../schema/subagent.ts';
import { keyVariable, MODEL_PROVIDERS, type SubagentModelType } from '../../schema/subagent-names.ts';
import {
  areVariablesSet,
  type FileContext,
  type Findings,
  normalizeVariables,
  type Path,
} from './findings.ts';

interface Provider {
  /** Wire format that the provider uses. */
  type: ModelType;
  /** Address of the provider. Null for the default of the format's own client. */
  baseUrl: string | null;
  host: string;
  keyVariable(env: Record<string, string>): string;
}

/** Providers by the `type` in a file: the vendors of a format, and other providers that use it. */
const PROVIDERS: Readonly<Record<SubagentModelType, Provider>> = {
  anthropic: maker('anthropic'),
  openai: maker('openai'),
  responses: maker('responses'),
  gemini: maker('google'),
  google: maker('google'),
  groq: compatible('https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  cerebras: compatible('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  openrouter: compatible('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  zai: compatible('https://api.z.ai/api/paas/v4', 'Z_API_KEY'),
};

function maker(type: ModelType): Provider {
  const { host } = new URL(MODEL_PROVIDERS[type].address);
  return { type, baseUrl: null, host, keyVariable: env => keyVariable(type, env) };
}

function compatible(baseUrl: string, variable: string): Provider {
  return { type: 'openai', baseUrl, host: new URL(baseUrl).host, keyVariable: () => variable };
}

/** A model in the file's list, with its place there. */
export interface ListedModel {
  /** The model without its invalid keys. */
  model: Partial<SubagentModel>;
  path: Path;
}

/** The model that `defaults` names. Null, with an error in the findings, if there is none. */
export function chosenModel(
  models: readonly ListedModel[],
  wanted: string | undefined,
  findings: Findings,
): ListedModel | null {
  const refs = models.flatMap(({ model }) => model.ref ?? []);
  const refuse = (message: string, suggestion: string) => {
    findings.error(['defaults', 'model'], message, { code: 'MODEL_NOT_SET', suggestion });
    return null;
  };
  if (refs.length === 0)
    return refuse('there are no models', 'List one under "models", with ref, id and type.');
  if (!wanted)
    return refuse(
      '"defaults.model" is missing: nothing says which model to use',
      `Add "model: ${refs[0]}" under "defaults".`,
    );
  const chosen = models.find(({ model }) => model.ref === wanted);
  if (chosen) return chosen;
  const near = nearest(wanted, refs);
  return refuse(
    `no model has the ref "${wanted}"`,
    near.length > 0 ? `Did you mean ${near.join(', ')}?` : `The models are: ${refs.join(', ')}.`,
  );
}

/** How to call the model. Null, with an error in the findings, if something is missing. */
export function modelSpecOf(
  { model, path }: ListedModel,
  defaults: SubagentDefaults,
  context: FileContext,
): ModelSpec | null {
  const { folder, findings } = context;
  warnOfUnusedModelSettings(model, path, findings);
  const headers = headersOf(model, path, context);
  const generation = generationOf({ model, path }, defaults, findings);
  const prices = pricesOf(model, path, findings);
  if (model.type === undefined) return null;
  const provider = PROVIDERS[model.type];
  const address = checkedAddress(model, path, context);
  const apiKeyEnv = keyVariableOf({ model, path }, provider, address, context);
  if (model.id === undefined) return null;
  // The values of variables are filled in only when a request is sent, and never stored.
  const baseUrl = model.base_url ? normalizeVariables(model.base_url, folder) : provider.baseUrl;
  return { type: provider.type, id: model.id, baseUrl, apiKeyEnv, headers, generation, prices };
}

/** Address with the values of its variables, only for checks. Null if it is missing or invalid. */
function checkedAddress(
  { base_url: given }: Partial<SubagentModel>,
  path: Path,
  context: FileContext,
): string | null {
  if (!given) return null;
  const { env, folder, findings } = context;
  const at = [...path, 'base_url'];
  const form = normalizeVariables(given, folder);
  if (!areVariablesSet(form, at, context)) return null;
  const filled = fillUrl(form, name => env[name] ?? '');
  if ('fault' in filled) {
    findings.error(at, `"${at.join('.')}" ${filled.fault}`);
    return null;
  }
  const { protocol } = URL.parse(filled.url) ?? {};
  if (protocol !== 'http:' && protocol !== 'https:')
    findings.error(at, `"${at.join('.')}" is not an http or https URL`);
  return filled.url;
}

/** Name of the variable that holds the API key. Reports an error if the variable is not set. Null if no key is sent. */
function keyVariableOf(
  { model: { api_key_env: given, auth_method: method, base_url }, path }: ListedModel,
  provider: Provider,
  address: string | null,
  { env, findings }: FileContext,
): string | null {
  const host = URL.parse(address ?? '')?.hostname ?? provider.host;
  const at = [...path, 'api_key_env'];
  // A key is sent only to the provider that issued it. For any other host the file has to name the variable.
  const name = given || (base_url && host !== provider.host ? null : provider.keyVariable(env));
  if (name !== null && !isVariableName(name)) {
    findings.error(at, '"api_key_env" is not the name of a variable', {
      code: 'API_KEY_MISSING',
      suggestion: 'Put the key into a variable, and the name of that variable here.',
    });
    return null;
  }
  if (method && !/^api_?key$/i.test(method))
    findings.warn(
      [...path, 'auth_method'],
      `Squad does not support "${method}": ${name === null ? 'no key is sent' : `the key in ${name} is used instead`}`,
    );
  if (name === null && !isLocal(host))
    findings.warn([...path, 'base_url'], `no key is sent to ${host}: there is no "api_key_env"`, {
      suggestion:
        'Add "api_key_env" with the name of the variable that holds the key, if the server needs one.',
    });
  if (name !== null && !env[name])
    findings.lacking(given ? at : path, `the API key is missing: the variable ${name} is not set`, {
      code: 'API_KEY_MISSING',
      suggestion: `Set ${name} in the environment of the program that starts Squad (its "env" in the client's configuration).`,
    });
  return name;
}

const isLocal = (host: string): boolean => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Any other text may be the key itself, which no message may repeat. */
const isVariableName = (text: string): boolean =>
  /^[A-Za-z_]\w*$/.test(text) && !(text.length >= 20 && /[a-z]/.test(text) && /\d/.test(text));

/** Merges parameters. Parameters of the model override the same parameters of `defaults`. */
function generationOf(
  { model, path }: ListedModel,
  defaults: SubagentDefaults,
  findings: Findings,
): GenerationOptions {
  const sources: [GenerationParams | undefined, Path][] = [
    [defaults.generationParams, ['defaults', 'generationParams']],
    [model.generationDefaults, [...path, 'generationDefaults']],
    [model.generationParams, [...path, 'generationParams']],
  ];
  for (const [params, at] of sources)
    for (const key of ['n', 'toolChoice'] as const)
      if (params?.[key] !== undefined)
        findings.warn([...at, key], `"${key}" has no effect: ${WHY_UNUSED[key]}`);
  const { maxGenerationTokens, thinkingBudget, n, toolChoice, ...rest } = Object.assign(
    {},
    ...sources.map(([params]) => params),
  ) as GenerationParams;
  const maxOutputTokens = maxGenerationTokens ?? model.max_output;
  return {
    ...rest,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    // `"4000"` is a number of tokens, `high` is a level.
    ...(thinkingBudget !== undefined && {
      thinking: /^[1-9]\d*$/.test(String(thinkingBudget)) ? Number(thinkingBudget) : thinkingBudget,
    }),
  };
}

const WHY_UNUSED = { n: 'one answer is asked for', toolChoice: 'the model chooses' };
const NO_COMPACTION =
  '"compaction" has no effect: a conversation is never shortened; one that outgrows the model fails';

/** Warns about settings that other programs use and Squad does not. */
function warnOfUnusedModelSettings(model: Partial<SubagentModel>, path: Path, findings: Findings): void {
  const unused = (at: Path, message: string, suggestion?: string) =>
    findings.warn([...path, ...at], message, { suggestion });
  if (model.patchRequest?.jsonPatch)
    unused(
      ['patchRequest', 'jsonPatch'],
      '"jsonPatch" has no effect: requests to the model go out unchanged',
    );
  if (model.mcpServers)
    unused(['mcpServers'], '"mcpServers" of a model have no effect', 'Put them at the top of the file.');
  if (model.timeout) unused(['timeout'], '"timeout" of a model has no effect', 'Put it under "defaults".');
  if (model.compaction) unused(['compaction'], NO_COMPACTION);
}

export function warnOfUnusedDefaults({ noStream, compaction }: SubagentDefaults, findings: Findings): void {
  if (noStream)
    findings.warn(['defaults', 'noStream'], '"noStream" has no effect: answers are always streamed');
  if (compaction) findings.warn(['defaults', 'compaction'], NO_COMPACTION);
}

function headersOf(
  { patchRequest }: Partial<SubagentModel>,
  path: Path,
  context: FileContext,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(patchRequest?.includeHeaders ?? {}).map(([name, value]) => {
      const form = normalizeVariables(value, context.folder);
      areVariablesSet(form, [...path, 'patchRequest', 'includeHeaders', name], context);
      return [name, form];
    }),
  );
}

function pricesOf(model: Partial<SubagentModel>, path: Path, findings: Findings): ModelSpec['prices'] {
  const { input_cost_per_million: input, output_cost_per_million: output } = model;
  if (input === undefined && output === undefined) return null;
  if (input === undefined || output === undefined) {
    findings.warn(path, `the model "${model.ref}" has only one of its two prices, so its cost is unknown`);
    return null;
  }
  const { cache_read_cost_per_million: cacheRead, cache_write_cost_per_million: cacheWrite } = model;
  return { input, output, cacheRead: cacheRead ?? null, cacheWrite: cacheWrite ?? null };
}
