import type { Caller } from '../core/ports/workspace.ts';
import { SquadError } from '../schema/error.ts';

/** What no engine was found for at the page may have one in a terminal, whose environment the page has only while this hub lives. */
export function withPageHint(thrown: unknown, { client }: Pick<Caller, 'client'>): unknown {
  if (client !== 'page' || !(thrown instanceof SquadError) || thrown.code !== 'ENGINE_NOT_SET') return thrown;
  return new SquadError(thrown.code, thrown.message, {
    suggestions: [
      'Type `squad open` in your terminal once: what the page starts has its environment from then on.',
      ...(thrown.toShape().suggestions ?? []),
    ],
    cause: thrown,
  });
}
