import type { LanguageModel } from 'ai';

export interface ProviderSettings {
  id: string;
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
  fetch: typeof fetch;
}

/** Each provider has its own file, because a conversation loads only the one it needs. */
export type MakeModel = (settings: ProviderSettings) => Exclude<LanguageModel, string>;
