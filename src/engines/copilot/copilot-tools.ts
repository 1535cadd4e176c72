import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { asksUser } from '../asks-user.ts';
import { ownTools, type ToolTable } from '../own-tools.ts';
import { ASKS, advisory, held, policyRules, READS } from '../policy-rules.ts';

const TOOLS: ToolTable = {
  Bash: ['bash', 'write_bash', 'read_bash', 'stop_bash', 'list_bash'],
  Read: ['view'],
  Glob: ['glob'],
  Grep: ['grep', 'rg'],
  Edit: ['edit', 'apply_patch'],
  Write: ['create'],
  LS: ['view'],
  WebFetch: ['web_fetch'],
  WebSearch: ['web_search'],
  Task: ['task'],
};

export const EDITING = ['edit', 'create', 'apply_patch', 'str_replace_editor'];

/** Flags for allowed, denied and visible tools. */
export function toolFlags(options: RunOptions): string[] {
  const { permission, tools } = options;
  return [
    ...(permission === 'read' ? ['--allow-tool', SQUAD_SERVER] : []),
    ...(permission === 'read' && !asksUser(options) ? ['--deny-tool', 'write', '--deny-tool', 'shell'] : []),
    ...(permission === 'edit' ? ['--allow-all-tools'] : []),
    ...(permission === 'full' ? ['--allow-all'] : []),
    ...(tools === null ? [] : ['--available-tools', [...granted(tools), SQUAD_SERVER].join(',')]),
  ];
}

const granted = (tools: string[]): string[] => ownTools(tools, 'Copilot CLI', TOOLS);

export function copilotPolicy(options: RunOptions): PolicyRule[] {
  const hasShell = options.tools === null || granted(options.tools).includes('bash');
  return policyRules(options, {
    ...(asksUser(options)
      ? { read: held(READS), approvals: held(ASKS) }
      : { read: held('writing and the shell are denied') }),
    edit: hasShell
      ? advisory(
          'its tools stay in its folder and the temporary one; a command is only checked for the paths it names',
        )
      : held('its tools stay in its folder and the temporary one'),
    tools: held(),
    budget: advisory('checked after the turn: Copilot CLI reports its tokens only then'),
    schema: advisory('Copilot CLI has no schema flag; Squad checks the answer'),
    effort: held(),
  });
}
