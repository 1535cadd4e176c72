import type { Caller } from '../core/ports/workspace.ts';
import { fillTemplate } from '../core/roles/fill-template.ts';
import type { Services } from '../operations/operation.ts';
import type { Face } from '../wire/face/face.ts';

/** Prompts for a person to choose from; the words are Markdown files. */
export function prompts({ workspaces }: Services, caller: Caller): NonNullable<Face['prompts']> {
  const usable = async () =>
    (await workspaces.templates(caller, 'prompt')).filter(({ fault }) => fault === null);
  return {
    list: async () =>
      (await usable()).map(({ name, description, arguments: taken }) => ({
        name,
        description,
        arguments: taken.map(({ name, description, required }) => ({ name, description, required })),
      })),
    async get(name, given) {
      const prompt = (await usable()).find(candidate => candidate.name === name);
      if (!prompt) return null;
      const text = fillTemplate(prompt, given);
      return {
        description: prompt.description,
        messages: [{ role: 'user', content: { type: 'text', text } }],
      };
    },
  };
}
