import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { advisory, held, policyRules } from '../policy-rules.ts';

type Asked = Pick<RunOptions, 'permission' | 'tools'> & { sandbox?: Pick<RunOptions['sandbox'], 'level'> };

type Means = 'shell' | 'look' | 'write' | 'search' | 'other';

/** Codex features that each tool needs. Codex reads files with its shell, so reading needs the shell too. */
const TABLE: ToolTable = {
  Bash: ['shell'],
  Read: ['look'],
  Glob: ['look'],
  Grep: ['look'],
  LS: ['look'],
  Edit: ['write'],
  Write: ['write'],
  MultiEdit: ['write'],
  NotebookEdit: ['write'],
  WebSearch: ['search'],
  WebFetch: ['other'],
  TodoWrite: ['other'],
  Task: ['other'],
};

/** Codex has no tool list. Its sandbox and a few switches come closest. */
export function codexPermissions({ permission, tools, sandbox: ours }: Asked): string[] {
  // Codex's sandbox cannot run inside another sandbox. Squad's sandbox already enforces the same limits, and git
  // commands need to write to the repository.
  const isConfined = ours !== undefined && ours.level !== 'off';
  const flags = isConfined
    ? ['--sandbox=danger-full-access', ...NO_RULES]
    : permission === 'full' && mayWrite(tools)
      ? [BYPASS]
      : [`--sandbox=${sandbox(permission, tools)}`, ...NOTHING_BEYOND];
  if (tools === null) return flags;
  if (!needs(tools, ['shell', 'look'])) flags.push('--disable', 'shell_tool');
  if (!needs(tools, ['search'])) flags.push('-c', 'web_search="disabled"');
  return flags;
}

const BYPASS = '--dangerously-bypass-approvals-and-sandbox';

const NO_RULES = ['--ignore-rules'];
/**
 * Removes permissions that the user's configuration may add to the sandbox. Commands that `.rules` files allow would
 * run outside it.
 */
const NOTHING_BEYOND = [
  ...NO_RULES,
  ...['-c', 'sandbox_workspace_write.writable_roots=[]'],
  ...['-c', 'sandbox_workspace_write.network_access=false'],
];

const sandbox = (permission: Asked['permission'], tools: Asked['tools']): string =>
  permission === 'read' || !mayWrite(tools) ? 'read-only' : 'workspace-write';

export const mayWrite = (tools: Asked['tools']): boolean =>
  tools === null || needs(tools, ['shell', 'write']);

const needs = (tools: readonly string[], means: readonly Means[]): boolean =>
  ownTools(tools, 'Codex', TABLE).some(need => (means as readonly string[]).includes(need));

export function codexPolicy(options: RunOptions): PolicyRule[] {
  return policyRules(options, {
    read: held('its sandbox lets it write nothing and reach no network'),
    edit: held('its sandbox lets it write in its folder and the temp folder, and reach no network'),
    tools: advisory(
      mayWrite(options.tools)
        ? 'Codex has no list of tools; its shell can do what most of them do'
        : 'Codex has no list of tools; its sandbox keeps it from writing',
    ),
    budget: advisory('Codex reports tokens at the end of a turn and knows no money'),
    schema: advisory('sent to the model; Squad checks the result'),
    effort: held(),
  });
}
