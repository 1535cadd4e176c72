import { brokenRule } from './argument-rules.ts';
import type { NameRule, ServerGrant } from './grants.ts';
import { matchesWildcard } from './wildcard.ts';

/** Something of another server that somebody would see or use, in the server's own names. */
export interface Thing {
  kind: 'tool' | 'resource' | 'resource_template' | 'prompt';
  server: string;
  /** Of a resource its URI, of a template the template. */
  name: string;
  isApproved: boolean;
  /** There only when a tool is called, then also if the call came without any: a list does not ask for them. */
  args?: unknown;
}

export type Decision =
  | { allowed: true }
  | {
      allowed: false;
      reason: 'server' | 'not_listed' | 'excluded' | 'not_approved' | 'argument';
      /** Which check of an argument rule: `allow`, `deny`, `under`, `maxLength`. */
      rule?: string;
      /** Which argument, as the rule names it. Never its value. */
      argument?: string;
    };

/** Whether these grants let somebody see the thing, or call it with these arguments. Whatever nothing speaks for is denied. */
export function decide(
  grants: readonly ServerGrant[],
  thing: Thing,
  { workspaceRoot }: { workspaceRoot: string },
): Decision {
  const grant = grants.find(({ server }) => server === thing.server);
  if (!grant) return { allowed: false, reason: 'server' };
  const names = ruleFor(grant, thing.kind);
  if (!names.only.every(list => list.has(thing.name))) return { allowed: false, reason: 'not_listed' };
  if (isExcluded(names, thing.name)) return { allowed: false, reason: 'excluded' };
  if (!thing.isApproved) return { allowed: false, reason: 'not_approved' };
  const broken =
    thing.kind === 'tool' && Object.hasOwn(thing, 'args')
      ? brokenRule(grant.argumentRules, thing.name, thing.args, { workspaceRoot, serverFolder: grant.folder })
      : null;
  return broken ? { allowed: false, reason: 'argument', ...broken } : { allowed: true };
}

function ruleFor(grant: ServerGrant, kind: Thing['kind']): NameRule {
  if (kind === 'tool') return grant.tools;
  return kind === 'prompt' ? grant.prompts : grant.resources;
}

function isExcluded({ except }: NameRule, name: string): boolean {
  if (except.has(name)) return true;
  for (const pattern of except) if (pattern.includes('*') && matchesWildcard(pattern, name)) return true;
  return false;
}
