import { nearest } from '../../base/text.ts';
import { SquadError } from '../../schema/error.ts';
import type { AgentTemplate } from '../../schema/role.ts';
import type { JsonSchema } from '../../schema/run.ts';
import { checkText } from '../text.ts';

/**
 * Stateless and new-chat prompts contain the role. A continued chat has read the role before. `spawn` is a prompt
 * without a role.
 */
type PromptMode = 'stateless' | 'new_chat' | 'continued' | 'spawn';

interface PromptParts {
  /** Context from the project's files. */
  context?: string;
  /** Empty for a prompt without a role. */
  roleBody: string;
  task: string;
  mode: PromptMode;
}

const RULE = '\n\n---\n\n';

export function buildPrompt(parts: PromptParts): string {
  const prompt = joined(parts);
  return COMMAND.test(prompt) ? `# Your Role\n\n${prompt}` : prompt;
}

/**
 * A prompt must not begin with these characters, because some CLIs would run it as one of their own commands and
 * never ask the model.
 */
const COMMAND = /^\s*[/@!]/;

function joined({ context = '', roleBody, task, mode }: PromptParts): string {
  if (mode === 'continued') return `# Task\n${task}${FOOTER}`;
  if (mode === 'spawn')
    return `${[context, roleBody, `# Your Task\n\n${task}`].filter(Boolean).join(RULE)}${FOOTER}`;
  const heading = mode === 'new_chat' ? '# Initial Task' : '# Task';
  const before = context && `${context}${RULE}`;
  return `${before}${roleBody}${RULE}${heading}\n${task}${FOOTER}`;
}

/** Prompt of a later turn for an engine without chats: all previous text, then the new text. */
export function extendPrompt(prompt: string, text: string): string {
  const before = prompt.endsWith(FOOTER) ? prompt.slice(0, -FOOTER.length) : prompt;
  return `${before}${RULE}${text}${FOOTER}`;
}

/** The text of a later turn's prompt, without what surrounds it. */
export function continuedText(prompt: string): string {
  const text = prompt.endsWith(FOOTER) ? prompt.slice(0, -FOOTER.length) : prompt;
  return text.replace(/^# Task\n/, '');
}

/** Prompt text for engines that do not enforce a schema. */
export const answerFormat = (schema: JsonSchema): string => `

# Answer Format

Your final answer must be one JSON value and nothing else: no words around it, no code fence. It must match this JSON Schema:

${JSON.stringify(schema, null, 2)}`;

/** Agents and readers of their reports rely on this wording. */
const FOOTER = `

---

# Setup & Reporting Rules

If you notice any setup or environment problems that prevent you from completing your task,
you MUST clearly report them as SETUP / ENVIRONMENT ISSUES.

Explain what you observed and suggest specific steps for the human to fix.
Do not pretend the task succeeded.`;

/** Placeholder such as `{{name}}`, on one line. */
const PLACEHOLDER = /\{\{([^{}\n]*)\}\}/g;

/** Placeholder names, in the order of their first use. */
export function placeholders(body: string): string[] {
  return [...new Set([...body.matchAll(PLACEHOLDER)].map(([, name]) => name!.trim()))];
}

/** Fills in the placeholders. Placeholders inside a value are not replaced. */
export function fillTemplate(
  template: Pick<AgentTemplate, 'name' | 'arguments' | 'body'>,
  given: Readonly<Record<string, string>>,
): string {
  const names = template.arguments.map(({ name }) => name);
  for (const name of Object.keys(given)) if (!names.includes(name)) throw unknown(template.name, name, names);
  const values = new Map<string, string>();
  for (const { name, required, default: value } of template.arguments) {
    const text = Object.hasOwn(given, name) ? given[name]! : null;
    if (required && (text === null || text.trim() === '')) throw missing(template.name, name);
    checkText(text ?? '', `The argument "${name}"`);
    values.set(name, text ?? value);
  }
  return template.body.replace(PLACEHOLDER, (found, name: string) => values.get(name.trim()) ?? found);
}

function unknown(template: string, name: string, names: string[]): SquadError {
  const near = nearest(name, names);
  return new SquadError(
    'INVALID_INPUT',
    `${template} has no argument ${JSON.stringify(name.slice(0, 80))}.`,
    {
      suggestions: [
        ...(near.length > 0 ? [`Did you mean ${near.join(', ')}?`] : []),
        names.length > 0 ? `Its arguments are: ${names.join(', ')}.` : 'It takes no arguments.',
      ],
    },
  );
}

function missing(template: string, name: string): SquadError {
  return new SquadError('INVALID_INPUT', `${template} needs the argument "${name}".`, {
    suggestions: [`Give ${name}: a text that is not blank.`],
  });
}
