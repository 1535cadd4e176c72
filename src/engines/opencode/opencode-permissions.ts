import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { advisory, held, policyRules } from '../policy-rules.ts';

/** These are opencode's names of permissions, not of tools: `edit` covers every tool that changes a file. */
const TOOLS: ToolTable = {
  Bash: ['bash'],
  Read: ['read', 'list'],
  Glob: ['glob', 'list'],
  Grep: ['grep'],
  Edit: ['edit'],
  Write: ['edit'],
  LS: ['list'],
  WebFetch: ['webfetch'],
  WebSearch: ['websearch', 'codesearch'],
  Task: ['task'],
  TodoWrite: ['todowrite', 'todoread'],
  Skill: ['skill'],
};

const ALL_TOOLS = [...new Set(Object.values(TOOLS).flat()), 'lsp'];
/**
 * Permissions with which an agent can change files. `task` is one, because a sub-agent may have its own permissions
 * in the user's configuration.
 */
const CHANGING = ['edit', 'bash', 'task'];

/**
 * Allows or denies every permission by name. In headless mode opencode answers a question with no and ends the turn
 * silently, and a name in the user's configuration overrides a general rule.
 */
export function opencodePermissions({ permission, tools }: RunOptions): Record<string, 'allow' | 'deny'> {
  const granted = new Set(tools === null ? ALL_TOOLS : ownTools(tools, 'opencode', TOOLS));
  if (permission === 'read') for (const name of CHANGING) granted.delete(name);
  const say = (yes: boolean) => (yes ? 'allow' : 'deny');
  return {
    '*': say(tools === null && permission !== 'read'),
    ...Object.fromEntries(ALL_TOOLS.map(name => [name, say(granted.has(name))])),
    external_directory: say(permission === 'full'),
    doom_loop: 'deny',
    question: 'deny',
    plan_enter: 'deny',
    plan_exit: 'deny',
    // opencode applies the last matching rule, so the rule for Squad's tools is the last.
    [`${SQUAD_SERVER}_*`]: 'allow',
  };
}

export function opencodePolicy(options: RunOptions): PolicyRule[] {
  const { bash, edit } = opencodePermissions(options);
  return policyRules(options, {
    read: held('editing, the shell and sub-agents are denied'),
    edit:
      bash === 'allow'
        ? advisory('its file tools stay in its folder; a command is only checked for the paths it names')
        : held('its file tools stay in its folder'),
    tools: held(options.tools && edit === 'allow' ? 'opencode has one permission for Edit and Write' : null),
    budget: options.stopAtBudget
      ? { heldBy: 'system', note: 'checked after each step, so the last one can exceed it' }
      : advisory('only reported, not stopped'),
    schema: advisory('opencode has no schema flag; Squad checks the answer'),
    effort: advisory('given as --variant; a model that has no such variant ignores it'),
  });
}
