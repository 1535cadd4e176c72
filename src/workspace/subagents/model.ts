import { nearest } from '../../base/text.ts';
import { fillUrl } from '../../core/gateway/variables.ts';
import type { GenerationOptions, ModelSpec, ModelType } from '../../schema/model-spec.ts';
import type { GenerationParams, SubagentDefaults, SubagentModel } from '../../schema/subagent.ts';
import { keyVariable, MODEL_PROVIDERS, type SubagentModelType } from '../../schema/subagent-names.ts';
import type { Findings, Path } from './findings.ts';
import { areSet, inOneForm, type Variables } from './variables.ts';

interface Provider {
  /** The wire format it speaks. */
  type: ModelType;
  /** Null: the one that the format's own client asks. */
  baseUrl: string | null;
  host: string;
  keyVariable(env: Record<string, string>): string;
}

/** By the word for it in a file: who made a format, and others that speak it. */
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

const isLocal = (host: string): boolean => /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

function maker(type: ModelType): Provider {
  const { host } = new URL(MODEL_PROVIDERS[type].address);
  return { type, baseUrl: null, host, keyVariable: env => keyVariable(type, env) };
}

function compatible(baseUrl: string, variable: string): Provider {
  return { type: 'openai', baseUrl, host: new URL(baseUrl).host, keyVariable: () => variable };
}

/** The variable that holds the key of a model; null: no key is sent. Said when it is not set. */
function keyVariableOf(
  { api_key_env: given, auth_method: method, base_url }: Partial<SubagentModel>,
  path: Path,
  { host, keyVariable }: Provider,
  address: string | null,
  { env }: Variables,
  findings: Findings,
): string | null {
  const asked = URL.parse(address ?? '')?.hostname ?? host;
  const at = [...path, 'api_key_env'];
  // A key is for the provider it was made for: nobody else is sent it unless the file says so.
  const name = given || (base_url && asked !== host ? null : keyVariable(env));
  if (name !== null && !isName(name)) {
    findings.error(at, '"api_key_env" is not the name of a variable', {
      code: 'API_KEY_MISSING',
      suggestion: 'Put the key into a variable, and the name of that variable here.',
    });
    return null;
  }
  if (method && !/^api_?key$/i.test(method))
    findings.warn(
      [...path, 'auth_method'],
      `"${method}" is not there in Squad: ${name === null ? 'no key is sent' : `the key in ${name} is used instead`}`,
    );
  if (name === null && !isLocal(asked))
    findings.warn([...path, 'base_url'], `no key is sent to ${asked}: there is no "api_key_env"`, {
      suggestion: 'Add "api_key_env" with the name of the variable that holds the key, if it wants one.',
    });
  if (name !== null && !env[name])
    findings.lacking(given ? at : path, `the API key is missing: the variable ${name} is not set`, {
      code: 'API_KEY_MISSING',
      suggestion: `Set ${name} in the environment of the program that starts Squad (its "env" in the client's configuration).`,
    });
  return name;
}

/** What is none may be the key itself, which is not repeated to anybody. */
const isName = (text: string): boolean =>
  /^[A-Za-z_]\w*$/.test(text) && !(text.length >= 20 && /[a-z]/.test(text) && /\d/.test(text));

/** What the model says comes before what `defaults` says, key by key. */
function mergedGeneration(
  { model, path }: ListedModel,
  defaults: Partial<SubagentDefaults>,
  findings: Findings,
): GenerationOptions {
  const sources: [GenerationParams | undefined, Path][] = [
    [defaults.generationParams, ['defaults', 'generationParams']],
    [model.generationDefaults, [...path, 'generationDefaults']],
    [model.generationParams, [...path, 'generationParams']],
  ];
  for (const [params, at] of sources)
    for (const key of ['n', 'toolChoice'] as const)
      if (params?.[key] !== undefined) findings.warn([...at, key], `"${key}" has no effect: ${WHY[key]}`);
  const { maxGenerationTokens, thinkingBudget, n, toolChoice, ...rest } = Object.assign(
    {},
    ...sources.map(([params]) => params),
  ) as GenerationParams;
  const most = maxGenerationTokens ?? model.max_output;
  return {
    ...rest,
    ...(most !== undefined && { maxOutputTokens: most }),
    ...(thinkingBudget !== undefined && { thinking: thinkingOf(thinkingBudget) }),
  };
}

const WHY = { n: 'one answer is asked for', toolChoice: 'the model chooses' };

/** `"4000"` is a number of tokens, `high` a word. */
const thinkingOf = (budget: string | number): string | number =>
  /^[1-9]\d*$/.test(String(budget)) ? Number(budget) : budget;

/** What other programs that read such files do with a model, and Squad does not. */
function warnOfUnusedModelSettings(model: Partial<SubagentModel>, path: Path, findings: Findings): void {
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

/** The same for all models. */
export function warnOfUnusedDefaults(
  { noStream, compaction }: Partial<SubagentDefaults>,
  findings: Findings,
): void {
  if (noStream)
    findings.warn(['defaults', 'noStream'], '"noStream" has no effect: answers are always streamed');
  if (compaction) findings.warn(['defaults', 'compaction'], NO_COMPACTION);
}

const NO_COMPACTION =
  '"compaction" has no effect: a conversation is never shortened; one that outgrows the model fails';

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
