import type { ModelType } from './model-spec.ts';

/** Values of `type` of a model in a subagent file: its provider, or the API format of its server. */
export const SUBAGENT_MODEL_TYPES = [
  ...(['anthropic', 'openai', 'responses', 'gemini', 'google'] as const),
  ...(['groq', 'cerebras', 'openrouter', 'zai'] as const),
] as const;
export type SubagentModelType = (typeof SUBAGENT_MODEL_TYPES)[number];

/** Tool names that all clients accept. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Default address of an API format, and the variables in which the provider's own tools look for the key and the
 * address.
 */
interface ModelProvider {
  address: string;
  /** Variables with the key; the first one is the default. */
  keyVariables: readonly [string, ...string[]];
  addressVariables: readonly string[];
  /** True if an address without an API version gets one, even after a path, as in the provider's own tools. */
  addsVersion: boolean;
}

const OPENAI: ModelProvider = {
  address: 'https://api.openai.com/v1',
  keyVariables: ['OPENAI_API_KEY'],
  addressVariables: ['OPENAI_BASE_URL'],
  addsVersion: false,
};

export const MODEL_PROVIDERS: Readonly<Record<ModelType, ModelProvider>> = {
  anthropic: {
    address: 'https://api.anthropic.com/v1',
    keyVariables: ['ANTHROPIC_API_KEY'],
    addressVariables: ['ANTHROPIC_BASE_URL'],
    addsVersion: true,
  },
  openai: OPENAI,
  responses: OPENAI,
  google: {
    address: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    addressVariables: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GEMINI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'],
    addsVersion: true,
  },
};

/** The variable that contains the key, or the default variable if none is set. */
export function keyVariable(type: ModelType, env: Readonly<Record<string, string | undefined>>): string {
  const { keyVariables } = MODEL_PROVIDERS[type];
  return keyVariables.find(name => env[name]) ?? keyVariables[0];
}
