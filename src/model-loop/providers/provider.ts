import type { LanguageModel } from 'ai';

export interface ProviderSettings {
  id: string;
  baseURL: string;
  apiKey: string;
  headers: Record<string, string>;
  fetch: typeof fetch;
}

/** Each in a file of its own, of which a conversation loads one. */
export type MakeModel = (settings: ProviderSettings) => Exclude<LanguageModel, string>;
