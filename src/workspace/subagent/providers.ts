import type { ModelType } from '../../schema/model-spec.ts';

export interface Provider {
  /** The wire format it speaks. */
  type: ModelType;
  /** Null: the one that the format's own client asks. */
  baseUrl: string | null;
  host: string;
  keyVariable: string;
}

/** By the word for it in a file. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: of('anthropic', null, 'api.anthropic.com', 'ANTHROPIC_API_KEY'),
  openai: of('openai', null, 'api.openai.com', 'OPENAI_API_KEY'),
  responses: of('responses', null, 'api.openai.com', 'OPENAI_API_KEY'),
  gemini: of('google', null, 'generativelanguage.googleapis.com', 'GEMINI_API_KEY'),
  google: of('google', null, 'generativelanguage.googleapis.com', 'GEMINI_API_KEY'),
  groq: of('openai', 'https://api.groq.com/openai/v1', 'api.groq.com', 'GROQ_API_KEY'),
  cerebras: of('openai', 'https://api.cerebras.ai/v1', 'api.cerebras.ai', 'CEREBRAS_API_KEY'),
  openrouter: of('openai', 'https://openrouter.ai/api/v1', 'openrouter.ai', 'OPENROUTER_API_KEY'),
  zai: of('openai', 'https://api.z.ai/api/paas/v4', 'api.z.ai', 'Z_API_KEY'),
};

export const isLocal = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

function of(type: ModelType, baseUrl: string | null, host: string, keyVariable: string): Provider {
  return { type, baseUrl, host, keyVariable };
}
