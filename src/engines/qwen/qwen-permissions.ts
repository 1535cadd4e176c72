import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { asksUser, readsLines } from '../asks-user.ts';
import { partOfArgument } from '../one-argument.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { ASKS, advisory, held, policyRules, READS } from '../policy-rules.ts';

type Asked = Pick<
  RunOptions,
  'permission' | 'tools' | 'approvals' | 'machine' | 'promptOnly' | 'outputSchema'
>;

const TABLE: ToolTable = {
  Bash: ['run_shell_command'],
  Read: ['read_file'],
  Glob: ['glob'],
  Grep: ['grep_search'],
  LS: ['list_directory'],
  Edit: ['edit'],
  MultiEdit: ['edit'],
  Write: ['write_file'],
  NotebookEdit: ['notebook_edit'],
  WebFetch: ['web_fetch'],
  WebSearch: ['web_search'],
  TodoWrite: ['todo_write'],
  Task: ['agent'],
};
const SHELL = 'run_shell_command';
const LOOKING = ['read_file', 'glob', 'grep_search', 'list_directory'];

/** Tools for which the agent has to ask. Sub-agents are excluded, because they could act without asking. */
const ASKED_FOR = [...new Set(Object.values(TABLE).flat())].filter(name => name !== 'agent');

/** Tools that the tool list does not control: Qwen Code has them unless they are excluded by name. */
const BEYOND = ['agent', 'skill', 'enter_worktree', 'exit_worktree', 'record_artifact', 'send_message'];

/** True if Qwen Code reads lines while it works. It does not allow an output schema then. */
export const qwenIsFed = (options: Asked): true | undefined =>
  (options.outputSchema === null && readsLines(options)) || undefined;

/** True if Qwen Code asks the user. */
const asks = (options: Asked): boolean => qwenIsFed(options) === true && asksUser(options) === true;

export function qwenPermissions(asked: Asked): string[] {
  const { permission } = asked;
  const flags = [`--approval-mode=${MODES[permission]}`];
  const only = toolSet(asked);
  // Qwen Code would ignore an empty list.
  if (only) {
    flags.push(`--core-tools=${partOfArgument('tools', only.join(',') || 'none')}`);
    flags.push(`--exclude-tools=${BEYOND.filter(name => !only.includes(name)).join(',')}`);
  }
  if (permission === 'edit' && (!only || only.includes(SHELL))) flags.push(`--allowed-tools=${SHELL}`);
  return flags;
}

/** If nobody can be asked, everything is refused that Qwen Code would ask about in its mode. */
const MODES = { read: 'default', edit: 'auto-edit', full: 'yolo' } as const;

function toolSet(asked: Asked): string[] | null {
  const { permission, tools } = asked;
  if (permission === 'read' && !asks(asked))
    return tools ? ownNames(tools).filter(name => LOOKING.includes(name)) : LOOKING;
  return tools ? ownNames(tools) : permission === 'read' ? ASKED_FOR : null;
}

const ownNames = (tools: readonly string[]): string[] => ownTools(tools, 'Qwen Code', TABLE);

export function qwenPolicy(options: RunOptions): PolicyRule[] {
  return policyRules(options, {
    ...(asks(options)
      ? { read: held(READS), approvals: held(ASKS) }
      : { read: held('it has only read-only tools') }),
    edit: advisory('its tools and commands can write outside its folder too'),
    tools: held(),
    budget: advisory('Qwen Code reports tokens and knows no money'),
    schema: held('Qwen Code checks it, and Squad checks the result again'),
    effort: advisory('Qwen Code has no flag for it'),
  });
}
