import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { asksUser } from '../asks-user.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { ASKS, advisory, held, policyRules, READS } from '../policy-rules.ts';

const TOOLS: ToolTable = {
  Bash: ['run_shell_command'],
  Read: ['read_file', 'read_many_files'],
  Glob: ['glob', 'list_directory'],
  Grep: ['grep_search'],
  Edit: ['replace'],
  Write: ['write_file'],
  LS: ['list_directory'],
  WebFetch: ['web_fetch'],
  WebSearch: ['google_web_search'],
};

export const EDITING = ['replace', 'write_file'];
const CHANGING = [...EDITING, 'run_shell_command'];
/** Tools that a role with `permission: read` has to ask for. */
const ASKED_FOR = [...CHANGING, 'web_fetch', 'google_web_search'];

export const APPROVAL_MODE = { read: 'default', edit: 'auto_edit', full: 'yolo' } as const;

/**
 * A policy file given by flag overrides the approval mode and the repository's own settings. A denied tool
 * is not visible to the model.
 */
export function geminiRules(options: RunOptions): string {
  const { permission, tools } = options;
  const rules = [
    rule({ mcpName: SQUAD_SERVER, toolName: '*', decision: 'allow', priority: 900 }),
    // A plan would need approval, and nobody can give it in a run.
    rule({ toolName: ['enter_plan_mode', 'exit_plan_mode'], decision: 'deny', priority: 900 }),
  ];
  const asks = asksUser(options);
  if (permission === 'read') {
    const names = asks ? ASKED_FOR.filter(name => tools === null || granted(tools).includes(name)) : CHANGING;
    if (names.length > 0)
      rules.push(rule({ toolName: names, decision: asks ? 'ask_user' : 'deny', priority: 800 }));
  }
  if (tools !== null) {
    const names = granted(tools);
    if (names.length > 0) rules.push(rule({ toolName: names, ...ALLOW, priority: 700 }));
    rules.push(rule({ toolName: '*', decision: 'deny', priority: 600 }));
  } else if (permission === 'edit')
    // Gemini CLI asks about some commands. In headless mode it refuses them instead.
    rules.push(rule({ toolName: 'run_shell_command', ...ALLOW, priority: 700 }));
  return `${rules.join('\n\n')}\n`;
}

const granted = (tools: string[]): string[] => ownTools(tools, 'Gemini CLI', TOOLS);

const ALLOW = { decision: 'allow', allowRedirection: true };

/** JSON and TOML have the same syntax for these values, so JSON.stringify is enough. */
const rule = (values: Record<string, unknown>): string =>
  ['[[rule]]', ...Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join(
    '\n',
  );

export function geminiPolicy(options: RunOptions): PolicyRule[] {
  const hasShell = options.tools === null || granted(options.tools).includes('run_shell_command');
  return policyRules(options, {
    ...(asksUser(options)
      ? { read: held(READS), approvals: held(ASKS) }
      : { read: held('it has no tool that edits and no shell') }),
    edit: hasShell
      ? advisory('its file tools write only in its folder; a command it runs can write elsewhere')
      : held('its file tools write only in its folder'),
    tools: held(),
    budget: advisory('checked after the turn: Gemini CLI reports its tokens only then'),
    schema: advisory('Gemini CLI has no schema flag; Squad checks the answer'),
    effort: advisory('Gemini CLI has no setting for it'),
  });
}
