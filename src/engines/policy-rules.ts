import type { PolicyRule, RunOptions } from '../schema/run.ts';

export type Holder = Pick<PolicyRule, 'heldBy' | 'note'>;

export const held = (note: string | null = null): Holder => ({ heldBy: 'engine', note });
export const advisory = (note: string): Holder => ({ heldBy: 'advisory', note });

/** Notes of CLIs that ask the user. */
export const READS = 'it may read without asking; the user is asked for everything else';
export const ASKS =
  'the user is asked before an action without permission; without an answer the action is refused';

/** How a CLI enforces each kind of limit. */
export interface Holders {
  read: Holder;
  edit: Holder;
  tools: Holder;
  budget: Holder;
  schema: Holder;
  effort: Holder;
  /** Absent for CLIs that cannot ask for approval. */
  approvals?: Holder;
}

/** Returns one rule for each limit in the options. */
export function policyRules(options: RunOptions, holders: Holders): PolicyRule[] {
  const { permission, approvals, tools, budgetUsd, outputSchema, effort } = options;
  const rules: PolicyRule[] = [];
  if (permission !== 'full') rules.push({ rule: `permission: ${permission}`, ...holders[permission] });
  if (approvals === 'ask' && holders.approvals) rules.push({ rule: 'approvals: ask', ...holders.approvals });
  if (tools) rules.push({ rule: `tools: ${tools.join(', ') || 'none'}`, ...holders.tools });
  if (budgetUsd !== null) rules.push({ rule: `budget: $${budgetUsd}`, ...holders.budget });
  if (outputSchema) rules.push({ rule: 'output_schema', ...holders.schema });
  if (effort !== null) rules.push({ rule: `effort: ${effort}`, ...holders.effort });
  return rules;
}
