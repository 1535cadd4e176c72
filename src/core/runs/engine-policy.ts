import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import type { RunSandbox } from '../../schema/sandbox.ts';
import type { Engine } from '../ports/engine.ts';

/** All limits of a run: those that the engine enforces, and those that Squad enforces for every engine. */
export function policyFor(engine: Engine, options: RunOptions): PolicyRule[] {
  const rules = [
    ...engine.policy(options).map(rule => bySandbox(rule, options)),
    ...sandboxRules(options.sandbox),
  ];
  if (options.approvals === 'ask' && !rules.some(({ rule }) => rule.startsWith('approvals')))
    rules.push({
      rule: 'approvals: ask',
      heldBy: 'advisory',
      note: 'this engine cannot ask the user: actions without permission are refused',
    });
  if (options.budgetUsd === null || rules.some(({ rule }) => rule.startsWith('budget'))) return rules;
  const isLive = engine.usageIsReported === 'live';
  return [
    ...rules,
    {
      rule: `budget: ${options.budgetUsd} USD`,
      heldBy: isLive && options.stopAtBudget ? 'system' : 'advisory',
      note: isLive
        ? null
        : engine.usageIsReported === 'at_end'
          ? 'checked after the turn, because this engine reports its usage only then'
          : 'cannot be checked, because this engine does not report its usage',
    },
  ];
}

/** In a sandbox the kernel limits where a run can write. The limit also holds for commands that the run starts. */
function bySandbox(rule: PolicyRule, { sandbox, permission }: RunOptions): PolicyRule {
  if (sandbox.level === 'off' || rule.rule !== `permission: ${permission}`) return rule;
  const note =
    permission === 'read'
      ? 'its folder is mounted read-only'
      : 'it can write only in its folder and its own home';
  return { ...rule, heldBy: 'system', note };
}

function sandboxRules({ level, network, hosts }: RunSandbox): PolicyRule[] {
  if (level === 'off') return [];
  const rule = (text: string, note: string): PolicyRule => ({ rule: text, heldBy: 'system', note });
  const reachable = [...(network === 'models' ? ["the engine's API"] : []), ...hosts].join(', ');
  return [
    rule(`sandbox: ${level}`, 'files: only its folder, its own home, programs and its login are visible'),
    rule('processes: its own', 'it can neither see nor signal others'),
    rule('git: its own branch', 'hooks, configuration, other branches and shared objects cannot be changed'),
    ...(network === 'full'
      ? []
      : [rule(`network: ${network}`, `only Squad${reachable && `, ${reachable}`}`)]),
  ];
}
