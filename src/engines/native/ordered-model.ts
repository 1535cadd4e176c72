import { SquadError } from '../../schema/error.ts';
import { type ModelSpec, ModelType } from '../../schema/model-spec.ts';
import { keyVariable, MODEL_PROVIDERS } from '../../schema/subagent-names.ts';

/** Whether any provider needs it; of one, whose key is named elsewhere, whether it is its address. */
export function needsProviderVariable(name: string, type?: ModelType): boolean {
  if (type !== undefined) return MODEL_PROVIDERS[type].addressVariables.includes(name);
  return Object.values(MODEL_PROVIDERS).some(({ keyVariables, addressVariables }) =>
    [...keyVariables, ...addressVariables].includes(name),
  );
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
  return {
    type: type.data,
    id,
    baseUrl: null,
    apiKeyEnv: keyVariable(type.data, env),
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
