/** Stateless and new-chat prompts carry the role; a continued chat has already read it. */
type PromptMode = 'stateless' | 'new_chat' | 'continued';

export interface PromptParts {
  roleBody: string;
  task: string;
  mode: PromptMode;
}

export function buildPrompt({ roleBody, task, mode }: PromptParts): string {
  if (mode === 'continued') return `# Task\n${task}${FOOTER}`;
  const heading = mode === 'new_chat' ? '# Initial Task' : '# Task';
  return `${roleBody}\n\n---\n\n${heading}\n${task}${FOOTER}`;
}

/** Agents and whoever reads their reports rely on these words. */
const FOOTER = `

---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded.`;
