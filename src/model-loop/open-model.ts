import type { ModelSpec } from '../schema/model-spec.ts';
import type { Address } from './address.ts';
import { NO_KEY, type ProviderLine, providerFetch } from './provider-fetch.ts';
import type { MakeModel } from './providers/provider.ts';

/** The model that was asked for, by way of the one provider it needs. */
export async function openModel(
  spec: ModelSpec,
  { url, isUsual }: Address,
  env: NodeJS.ProcessEnv,
  line: ProviderLine,
): Promise<ReturnType<MakeModel>> {
  const make = await providerOf(spec, isUsual);
  return make({
    id: spec.id,
    baseURL: url,
    apiKey: keyOf(spec, env) ?? NO_KEY,
    headers: spec.headers,
    fetch: providerFetch(line),
  });
}

const keyOf = ({ apiKeyEnv }: ModelSpec, env: NodeJS.ProcessEnv): string | null =>
  (apiKeyEnv !== null && env[apiKeyEnv]) || null;

async function providerOf({ type }: ModelSpec, isUsual: boolean): Promise<MakeModel> {
  if (type === 'anthropic') return (await import('./providers/anthropic.ts')).anthropicModel;
  if (type === 'google') return (await import('./providers/google.ts')).googleModel;
  if (type === 'responses') return (await import('./providers/openai.ts')).responsesModel;
  if (isUsual) return (await import('./providers/openai.ts')).chatModel;
  return (await import('./providers/openai-compatible.ts')).compatibleModel;
}
