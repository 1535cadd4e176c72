import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { advisory, held, policyRules } from '../policy-rules.ts';

type Asked = Pick<RunOptions, 'permission' | 'tools'>;

/** Codex reads files with its shell: who may look needs it too. */
const LOOKING = ['Read', 'Glob', 'Grep', 'LS'];
const WRITING = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];

/** Codex has no list of tools: its sandbox and a few switches come as near as can be. */
export function codexPermissions({ permission, tools }: Asked): string[] {
  const flags =
    permission === 'full' && mayWrite(tools) ? [BYPASS] : [`--sandbox=${sandbox(permission, tools)}`];
  if (tools === null) return flags;
  if (!has(tools, ['Bash', ...LOOKING])) flags.push('--disable', 'shell_tool');
  if (!has(tools, ['WebSearch'])) flags.push('-c', 'web_search="disabled"');
  return flags;
}

const BYPASS = '--dangerously-bypass-approvals-and-sandbox';

const sandbox = (permission: Asked['permission'], tools: Asked['tools']): string =>
  permission === 'read' || !mayWrite(tools) ? 'read-only' : 'workspace-write';

const mayWrite = (tools: Asked['tools']): boolean => tools === null || has(tools, ['Bash', ...WRITING]);

const has = (tools: readonly string[], names: readonly string[]): boolean =>
  tools.some(tool => names.includes(tool.split('(')[0]!));

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
