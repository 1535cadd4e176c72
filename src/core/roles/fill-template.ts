import { nearest } from '../../base/nearest.ts';
import type { AgentTemplate } from '../../schema/agent-template.ts';
import { SquadError } from '../../schema/error.ts';
import { checkText } from '../text.ts';

/** Whatever stands in double braces on one line. */
const PLACEHOLDER = /\{\{([^{}\n]*)\}\}/g;

/** The names in a body's placeholders, in the order of their first use. */
export function placeholders(body: string): string[] {
  return [...new Set([...body.matchAll(PLACEHOLDER)].map(([, name]) => name!.trim()))];
}

/** The prompt. A value goes in as it is: nothing in it is a placeholder. */
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
        names.length > 0 ? `Its arguments are: ${names.join(', ')}.` : 'It takes none.',
      ],
    },
  );
}

function missing(template: string, name: string): SquadError {
  return new SquadError('INVALID_INPUT', `${template} needs the argument "${name}".`, {
    suggestions: [`Give ${name}: a text that is not blank.`],
  });
}
