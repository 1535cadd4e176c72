import type { HubSettingKey } from '../../../src/schema/config.ts';

/** What each of the hub's own settings does. */
const WORDS: Record<HubSettingKey, string> = {
  'limits.concurrency': 'Runs at work at once; more wait in a queue.',
  'limits.spawns_per_minute': 'Runs asked for in any minute; more are refused.',
  'limits.depth': 'How deep agents may start agents.',
  'budget.run_usd': 'US dollars one run may cost; beyond it, it is stopped.',
  'budget.squad_usd': 'US dollars a squad may cost together.',
  'budget.day_usd': 'US dollars a day may cost; beyond it nothing is started.',
  'output.max_bytes': 'Bytes one run may write; beyond it, it is stopped.',
  'stop.grace_ms': 'Milliseconds between asking an agent to end and killing it.',
  'review.max_iterations': 'Reviews a task may have.',
  'review.auto_abandon_after': 'Failed reviews after which a task is given up.',
  'review.timeout_hours': 'Hours one review may take.',
  'inbox.timeout_minutes': 'Minutes an agent waits for an answer before its default counts.',
  'tmux.sessions': 'Which runs have a window in tmux: worktree, all or off.',
  'prune.days': 'Days that `squad prune` keeps ended runs.',
};

export const describeSetting = (key: string): string => WORDS[key as HubSettingKey] ?? '';

/** As a person reads it; nothing set is no limit. */
export function valueWords(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
