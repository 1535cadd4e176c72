import { keyVariable, MODEL_PROVIDERS } from '../../schema/model-providers.ts';
import type { ModelType } from '../../schema/model-spec.ts';
import type { SubagentModelType } from '../../schema/subagent-names.ts';

export interface Provider {
  /** The wire format it speaks. */
  type: ModelType;
  /** Null: the one that the format's own client asks. */
  baseUrl: string | null;
  host: string;
  keyVariable(env: Record<string, string>): string;
}

/** By the word for it in a file: who made a format, and others that speak it. */
export const PROVIDERS: Readonly<Record<SubagentModelType, Provider>> = {
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

export const isLocal = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

function maker(type: ModelType): Provider {
  const { host } = new URL(MODEL_PROVIDERS[type].address);
  return { type, baseUrl: null, host, keyVariable: env => keyVariable(type, env) };
}

function compatible(baseUrl: string, variable: string): Provider {
  return { type: 'openai', baseUrl, host: new URL(baseUrl).host, keyVariable: () => variable };
}
