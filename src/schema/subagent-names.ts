import type { ModelType } from './model-spec.ts';

/** Who makes a model, or whose format its server speaks, in a subagent's file. */
export const SUBAGENT_MODEL_TYPES = [
  ...(['anthropic', 'openai', 'responses', 'gemini', 'google'] as const),
  ...(['groq', 'cerebras', 'openrouter', 'zai'] as const),
] as const;
export type SubagentModelType = (typeof SUBAGENT_MODEL_TYPES)[number];

/** What clients take as the name of a tool. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Who makes the models of a wire format, and where the makers' own tools look for key and address. */
interface ModelProvider {
  address: string;
  /** Any of them will do; the first is the usual one. */
  keyVariables: readonly [string, ...string[]];
  addressVariables: readonly string[];
  /** People leave the version out of its address even after a path: the makers' tools add it themselves. */
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

/** The variable that holds its key; where none is set, the usual one. */
export function keyVariable(type: ModelType, env: Readonly<Record<string, string | undefined>>): string {
  const { keyVariables } = MODEL_PROVIDERS[type];
  return keyVariables.find(name => env[name]) ?? keyVariables[0];
}
