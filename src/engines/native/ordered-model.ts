import { SquadError } from '../../schema/error.ts';
import { type ModelSpec, ModelType } from '../../schema/model-spec.ts';

/** Where each provider's own tools look for the key and the address. */
const VARIABLES: Record<ModelType, { keys: readonly [string, ...string[]]; addresses: readonly string[] }> = {
  anthropic: { keys: ['ANTHROPIC_API_KEY'], addresses: ['ANTHROPIC_BASE_URL'] },
  openai: { keys: ['OPENAI_API_KEY'], addresses: ['OPENAI_BASE_URL'] },
  responses: { keys: ['OPENAI_API_KEY'], addresses: ['OPENAI_BASE_URL'] },
  google: {
    keys: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    addresses: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GEMINI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'],
  },
};

/** Whether one of the providers, or this one, needs it. */
export function needsProviderVariable(name: string, type?: ModelType): boolean {
  const places = type === undefined ? Object.values(VARIABLES) : [{ ...VARIABLES[type], keys: [] }];
  return places.some(({ keys, addresses }) => [...keys, ...addresses].includes(name));
}

/** The model of an ordinary run, from `provider/model`. */
export function orderedModel(
  asked: string | null,
  effort: string | null,
  env: Record<string, string>,
): ModelSpec {
  const [provider = '', ...rest] = (asked ?? '').split('/');
  const type = ModelType.safeParse(provider);
  const id = rest.join('/');
  if (!type.success || id.trim() === '') throw notSet(asked);
  const { keys } = VARIABLES[type.data];
  return {
    type: type.data,
    id,
    baseUrl: null,
    apiKeyEnv: keys.find(name => env[name]) ?? keys[0],
    headers: {},
    generation: effort === null ? {} : { thinking: effort },
    prices: null,
  };
}

const notSet = (asked: string | null): SquadError =>
  new SquadError(
    'MODEL_NOT_SET',
    asked === null
      ? 'The native engine asks a model itself, and no model was chosen'
      : `The native engine has no model ${JSON.stringify(asked.slice(0, 100).toWellFormed())}: it is written provider/model`,
    {
      suggestions: [
        `Set it with --model or in the role: ${ModelType.options.map(type => `${type}/…`).join(', ')}. openai/… speaks chat completions, responses/… OpenAI's newer API.`,
      ],
    },
  );
