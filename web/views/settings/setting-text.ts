import type { HubSettingKey } from '../../../src/schema/config.ts';

const DESCRIPTIONS: Record<HubSettingKey, string> = {
  'limits.concurrency': 'Maximum number of runs at the same time. More are queued.',
  'limits.spawns_per_minute': 'Maximum number of runs started per minute. More are refused.',
  'limits.depth': 'How many levels deep agents may start other agents.',
  'limits.park': 'How many minutes a run may wait for usage limits of its engine.',
  'limits.wakes': 'How many turns of a run messages of agents and ended child runs may begin.',
  'budget.run_usd': 'Maximum cost of one run in US dollars. Above it, the run is stopped.',
  'budget.squad_usd': 'Maximum total cost of a squad in US dollars.',
  'budget.day_usd': 'Maximum cost per day in US dollars. Above it, no runs start.',
  'output.max_bytes': 'Maximum output of one run in bytes. Above it, the run is stopped.',
  'stop.grace_ms': 'Milliseconds between asking an agent to stop and killing it.',
  'review.max_iterations': 'Maximum number of reviews per task.',
  'review.auto_abandon_after': 'Failed reviews after which a task is abandoned.',
  'review.timeout_hours': 'Maximum duration of one review in hours.',
  'inbox.timeout_minutes': 'Minutes an agent waits for an answer before the default is used.',
  'machines.lease_seconds':
    'Seconds for which an agent on a lost machine keeps running, if its role has `takeover`.',
  'sandbox.default': 'Runs that are sandboxed by default: those with a work tree, or none.',
  'tmux.sessions': 'Runs that get a tmux window: worktree, all or off.',
  'prune.days': 'Days for which `squad prune` keeps ended runs.',
};

export const describeSetting = (key: string): string => DESCRIPTIONS[key as HubSettingKey] ?? '';

/** Formats a setting for display; `none` means no limit. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
