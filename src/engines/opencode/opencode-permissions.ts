import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { asksUser } from '../asks-user.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { ASKS, advisory, held, policyRules, READS } from '../policy-rules.ts';

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
 * Tools that a role with `permission: read` has to ask for. `task` is left out, because a sub-agent could do things
 * without asking.
 */
const ASKED_FOR = ['edit', 'bash', 'webfetch', 'websearch', 'codesearch'];

type Permission = 'allow' | 'deny' | 'ask';

/**
 * Names every permission, because a name in the user's configuration overrides a general rule. Uses `ask` only if Squad
 * can ask the user: in headless mode opencode answers its own question with no and ends the turn without a message.
 */
export function opencodePermissions(options: RunOptions): Record<string, Permission> {
  const { permission, tools } = options;
  const granted = new Set(tools === null ? ALL_TOOLS : ownTools(tools, 'opencode', TOOLS));
  const asks = asksUser(options);
  const asked = asks && permission === 'read' ? ASKED_FOR.filter(name => granted.has(name)) : [];
  if (permission === 'read') for (const name of CHANGING) granted.delete(name);
  const say = (yes: boolean) => (yes ? 'allow' : 'deny');
  return {
    '*': say(tools === null && permission !== 'read'),
    ...Object.fromEntries(ALL_TOOLS.map(name => [name, say(granted.has(name))])),
    ...Object.fromEntries(asked.map(name => [name, 'ask'])),
    external_directory: asks ? 'ask' : say(permission === 'full'),
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
  const asks = asksUser(options);
  return policyRules(options, {
    ...(asks
      ? { read: held(READS), approvals: held(ASKS) }
      : { read: held('editing, the shell and sub-agents are denied') }),
    edit:
      bash === 'allow'
        ? advisory('its file tools stay in its folder; a command is only checked for the paths it names')
        : held('its file tools stay in its folder'),
    tools: held(options.tools && edit === 'allow' ? 'opencode has one permission for Edit and Write' : null),
    budget: asks
      ? advisory('checked after the turn, because opencode reports the cost only then when it asks the user')
      : options.stopAtBudget
        ? { heldBy: 'system', note: 'checked after each step, so the last one can exceed it' }
        : advisory('only reported, not stopped'),
    schema: advisory('opencode has no schema flag; Squad checks the answer'),
    effort: advisory('given as --variant; a model that has no such variant ignores it'),
  });
}
