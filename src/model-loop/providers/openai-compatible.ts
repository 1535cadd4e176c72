import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { MakeModel } from './provider.ts';

export const compatibleModel: MakeModel = ({ id, ...settings }) =>
  createOpenAICompatible({ ...settings, name: 'openai', includeUsage: true }).chatModel(id);
