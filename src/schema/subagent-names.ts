/** Who makes a model, or whose format its server speaks, in a subagent's file. */
export const SUBAGENT_MODEL_TYPES = [
  ...(['anthropic', 'openai', 'responses', 'gemini', 'google'] as const),
  ...(['groq', 'cerebras', 'openrouter', 'zai'] as const),
] as const;
export type SubagentModelType = (typeof SUBAGENT_MODEL_TYPES)[number];

/** What clients take as the name of a tool. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
