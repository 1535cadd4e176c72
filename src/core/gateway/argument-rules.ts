import type { ArgumentRule } from '../../schema/mcp-config.ts';
import { textOf, textsIn, Unsearchable, valuesAt } from './argument-values.ts';
import { isBelow, type Origins } from './path-below.ts';
import { isMeant } from './tool-names.ts';
import { matchesWildcard } from './wildcard.ts';

type Check = 'allow' | 'deny' | 'under' | 'maxLength';

export interface BrokenRule {
  rule: Check;
  argument: string;
}

/**
 * The first check that a call's arguments do not pass, or null. `${WORKSPACE_ROOT}` and `${SQUAD_ROOT}` in folders have been
 * put in place before (`withRoots`); a folder that still has a variable in it holds nothing.
 */
export function brokenRule(
  rules: readonly ArgumentRule[],
  tool: string,
  args: unknown,
  origins: Origins,
): BrokenRule | null {
  for (const rule of rules) {
    if (!rule.tool.some(entry => isMeant(entry, rule.server, tool))) continue;
    const check = brokenCheck(rule, args ?? {}, origins);
    if (check) return { rule: check, argument: rule.argument };
  }
  return null;
}

function brokenCheck(rule: ArgumentRule, args: unknown, origins: Origins): Check | null {
  const checks = (['allow', 'deny', 'under', 'maxLength'] as const).filter(
    check => rule[check] !== undefined,
  );
  // Arguments are an object or no server can mean them: what cannot be looked at passes nothing.
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return checks[0] ?? null;
  try {
    const { values, isMissing } = valuesAt(args, rule.argument);
    return checks.find(check => !passes(check, rule, values, isMissing, origins)) ?? null;
  } catch (thrown) {
    if (thrown instanceof Unsearchable) return checks[0] ?? null;
    throw thrown;
  }
}

function passes(
  check: Check,
  { allow = [], deny = [], under = [], maxLength = 0 }: ArgumentRule,
  values: readonly unknown[],
  isMissing: boolean,
  origins: Origins,
): boolean {
  switch (check) {
    case 'allow':
      return !isMissing && values.every(value => isPlain(value) && matchesOne(allow, textOf(value)));
    case 'under':
      return !isMissing && values.every(value => under.some(folder => isBelow(value, folder, origins)));
    case 'deny':
      return values.every(value => !textsIn(value).some(text => matchesOne(deny, text)));
    case 'maxLength':
      return values.every(value => lengthOf(value) <= maxLength);
  }
}

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null;

const matchesOne = (patterns: readonly string[], text: string): boolean =>
  patterns.some(pattern => matchesWildcard(pattern, text));

/** Of an object, the length of all that is inside. */
const lengthOf = (value: unknown): number => textsIn(value).reduce((length, text) => length + text.length, 0);
