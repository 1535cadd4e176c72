import { SquadError } from './error.ts';

/** Tools are grouped into sets, because every listed tool uses context of every client. */
export const TOOLSETS = ['core', 'team', 'templates'] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** Parses a list such as `core,templates`. Null if no set is named. Throws INVALID_INPUT. */
export function toolsetsIn(text: string | undefined): readonly Toolset[] | null {
  const names = (text ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(Boolean);
  if (names.length === 0) return null;
  return [...new Set(names.map(known))];
}

function known(name: string): Toolset {
  const found = TOOLSETS.find(toolset => toolset === name);
  if (found) return found;
  const shown = name.length > 40 ? `${name.slice(0, 40).toWellFormed()}…` : name;
  throw new SquadError('INVALID_INPUT', `There is no toolset "${shown}"`, {
    suggestions: [`Use one or more of ${TOOLSETS.join(', ')}, separated by commas.`],
  });
}
