import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import type { Engine } from '../ports/engine.ts';

/** The limits that the engine enforces, and those that Squad enforces for every engine. */
export function policyFor(engine: Engine, options: RunOptions): PolicyRule[] {
  const rules = [...engine.policy(options)];
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
