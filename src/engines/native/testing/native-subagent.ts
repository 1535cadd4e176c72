import type { Subagent } from '../../../schema/subagent.ts';

/** A subagent without servers or tools, only with a model. */
export const nativeSubagent = (changes: Partial<Subagent> = {}): Subagent => ({
  file: '/project/review.yaml',
  name: 'review',
  description: 'Reviews.',
  outputSchema: null,
  model: {
    type: 'openai',
    id: 'local-1',
    baseUrl: 'http://127.0.0.1:8080/v1',
    apiKeyEnv: null,
    headers: {},
    generation: {},
    prices: null,
  },
  systemPrompt: 'You review.',
  codeMode: null,
  servers: null,
  timeoutMs: null,
  maxTurns: 20,
  ...changes,
});
