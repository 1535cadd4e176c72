import { brokenRule } from './argument-rules.ts';
import type { NameRule, ServerGrant } from './grants.ts';
import { isMeant, names } from './tool-names.ts';

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
      reason: 'server' | 'not_listed' | 'excluded' | 'unmatched' | 'not_approved' | 'argument';
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
  const rule = ruleFor(grant, thing.kind);
  if (!rule.only.every(list => isIn(list, grant, thing))) return { allowed: false, reason: 'not_listed' };
  if (isExcluded(rule, thing)) return { allowed: false, reason: 'excluded' };
  if (thing.kind === 'tool' && grant.unmatched.length + grant.dangling.length > 0)
    return { allowed: false, reason: 'unmatched' };
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

/** Of a resource only its URI is a name. */
const isIn = (list: ReadonlySet<string>, { known }: ServerGrant, { kind, server, name }: Thing): boolean =>
  kind === 'tool' || kind === 'prompt'
    ? names(list, server, name, kind === 'tool' ? known : null)
    : list.has(name);

function isExcluded({ except }: NameRule, { server, name }: Thing): boolean {
  for (const entry of except) if (isMeant(entry, server, name)) return true;
  return false;
}
