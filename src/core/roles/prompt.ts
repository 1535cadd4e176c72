import type { JsonSchema } from '../../schema/run.ts';

/** Stateless and new-chat prompts carry the role; a continued chat has already read it. `spawn`: a bare prompt. */
type PromptMode = 'stateless' | 'new_chat' | 'continued' | 'spawn';

export interface PromptParts {
  /** What the project's own files say, or nothing. */
  context?: string;
  /** Empty for a bare prompt. */
  roleBody: string;
  task: string;
  mode: PromptMode;
}

const RULE = '\n\n---\n\n';

export function buildPrompt(parts: PromptParts): string {
  const prompt = joined(parts);
  return COMMAND.test(prompt) ? `# Your Role\n\n${prompt}` : prompt;
}

/** What a role must not begin with: some CLIs would run it as a command of their own and never ask the model. */
const COMMAND = /^\s*[/@!]/;

function joined({ context = '', roleBody, task, mode }: PromptParts): string {
  if (mode === 'continued') return `# Task\n${task}${FOOTER}`;
  if (mode === 'spawn')
    return `${[context, roleBody, `# Your Task\n\n${task}`].filter(Boolean).join(RULE)}${FOOTER}`;
  const heading = mode === 'new_chat' ? '# Initial Task' : '# Task';
  const before = context && `${context}${RULE}`;
  return `${before}${roleBody}${RULE}${heading}\n${task}${FOOTER}`;
}

/** The prompt of a later turn for an engine without chats: everything said before, then the new text. */
export function extendPrompt(prompt: string, text: string): string {
  const before = prompt.endsWith(FOOTER) ? prompt.slice(0, -FOOTER.length) : prompt;
  return `${before}${RULE}${text}${FOOTER}`;
}

/** For engines that cannot be held to a schema: they are asked. */
export const answerFormat = (schema: JsonSchema): string => `

# Answer Format

Your final answer must be one JSON value and nothing else: no words around it, no code fence. It must match this JSON Schema:

${JSON.stringify(schema, null, 2)}`;

/** Agents and whoever reads their reports rely on these words. */
const FOOTER = `

---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded.`;
