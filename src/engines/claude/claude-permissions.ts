import { SQUAD_SERVER } from '../../core/ports/engine.ts';
import { SquadError } from '../../schema/error.ts';
import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { partOfArgument } from '../one-argument.ts';
import { ASKS, advisory, type Holder, held, policyRules, READS } from '../policy-rules.ts';
import { DIALOG } from '../stream-json-driver.ts';

const KNOWN = [
  ...[
    'Bash',
    'Read',
    'Glob',
    'Grep',
    'LS',
    'Edit',
    'Write',
    'MultiEdit',
    'NotebookEdit',
    'WebFetch',
    'WebSearch',
  ],
  ...[
    'Task',
    'Agent',
    'Skill',
    'TodoWrite',
    'TaskCreate',
    'TaskGet',
    'TaskList',
    'TaskOutput',
    'TaskStop',
    'TaskUpdate',
  ],
  ...['Monitor', 'Workflow', 'SendMessage', 'ListAgents', 'ReportFindings', 'EnterWorktree', 'ExitWorktree'],
];

type Asked = Pick<RunOptions, 'permission' | 'tools' | 'approvals'>;

/** Read-only tools. */
const LOOKING = ['Read', 'Glob', 'Grep', 'LS'];
/**
 * Tools that need no rule, because the mode `acceptEdits` allows them inside the folder. A rule would allow them
 * anywhere.
 */
const WRITING = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];
/** Tools that `edit` allows in addition to reading everywhere and writing in the folder. */
const ACTING = ['Bash', 'WebFetch', 'WebSearch'];

/**
 * Tool that Claude Code calls to ask the user about actions that no rule allows or denies, if the role requests that.
 * The model does not see the tool. A fed turn uses `stdio` instead: Claude Code then asks with a line of its output.
 */
const PROMPT_TOOL = `mcp__${SQUAD_SERVER}__ask_permission`;
/** Tools that Claude Code adds when it can ask a person. In a run nobody approves plans or answers dialogs. */
const FOR_DIALOGS = ['EnterPlanMode', 'ExitPlanMode'];

/** Flags for the tools that the agent may use. If nobody can be asked, every other tool is refused. */
export function claudePermissions(
  asked: Asked,
  { hasSquad, isFed = false }: { hasSquad: boolean; isFed?: boolean },
): string[] {
  const flags: string[] = [];
  const asks = (hasSquad || isFed) && asked.approvals === 'ask';
  const builtIn = builtInTools(asked, asks);
  const dialog = isFed && asks ? [DIALOG] : [];
  if (builtIn) flags.push(`--tools=${[...builtIn, ...dialog].join(',')}`);
  if (asked.permission === 'full') return [...flags, '--dangerously-skip-permissions'];
  flags.push(`--permission-mode=${mayWrite(asked) ? 'acceptEdits' : asks ? 'default' : 'dontAsk'}`);
  if (asks) flags.push(...askFlags(isFed));
  const allowed = [...allowedTools(asked), ...(hasSquad ? [`mcp__${SQUAD_SERVER}`] : [])];
  if (allowed.length > 0) flags.push(`--allowedTools=${partOfArgument('tools', allowed.join(','))}`);
  return flags;
}

/**
 * Hides the permission tool from the model. Claude Code hides its own prompt tool. With `stdio` the tool has to be
 * disallowed.
 */
const askFlags = (isFed: boolean): string[] => [
  `--permission-prompt-tool=${isFed ? 'stdio' : PROMPT_TOOL}`,
  `--disallowedTools=${[...FOR_DIALOGS, isFed ? PROMPT_TOOL : DIALOG].join(',')}`,
];

/** Whether the agent may write files. Accepting edits also allows commands that only write files in the folder. */
const mayWrite = ({ permission, tools }: Asked): boolean =>
  permission === 'edit' && (tools === null || tools.some(tool => WRITING.includes(baseName(tool))));

/** All built-in tools that the model sees. Null means Claude Code's default set. */
function builtInTools({ permission, tools }: Asked, asks: boolean): string[] | null {
  if (permission === 'read' && !asks) return lookingOf(tools);
  if (permission === 'read' && tools === null) return [...LOOKING, ...WRITING, ...ACTING];
  return tools && [...new Set(tools.map(baseName).filter(name => !isMcp(name)))];
}

function allowedTools({ permission, tools }: Asked): string[] {
  if (permission === 'read') return lookingOf(tools);
  const asked = tools ?? [...LOOKING, ...ACTING];
  return asked.filter(tool => !WRITING.includes(baseName(tool)));
}

const lookingOf = (tools: Asked['tools']): string[] =>
  (tools ?? LOOKING).map(baseName).filter(name => LOOKING.includes(name));

/** Returns `Bash` for `Bash(git log *)`. Unknown names are refused, because Claude Code would silently ignore them. */
function baseName(tool: string): string {
  const name = /^([A-Za-z]\w*)(?:\([^()\n]+\))?$/.exec(tool)?.[1];
  if (name && (KNOWN.includes(name) || isMcp(name))) return name;
  throw new SquadError(
    'INVALID_INPUT',
    `Claude Code has no tool that can be granted as ${JSON.stringify(tool.slice(0, 60).toWellFormed())}`,
    {
      suggestions: [`Tools that can be granted: ${KNOWN.join(', ')}; or with a rule, like Bash(git log *).`],
    },
  );
}

const isMcp = (name: string): boolean => name.startsWith('mcp__');

export function claudePolicy(options: RunOptions): PolicyRule[] {
  return policyRules(options, {
    read: held(options.approvals === 'ask' ? READS : 'it has only read-only tools'),
    approvals:
      options.permission === 'full' ? advisory('with permission full it asks for nothing') : held(ASKS),
    edit: editHolder(options.tools),
    tools: toolsHolder(options),
    budget: options.stopAtBudget
      ? held('checked after each model request, so the last one can exceed it')
      : advisory('only reported, not stopped'),
    schema: held('Claude Code checks it, and Squad checks the result again'),
    effort: held(),
  });
}

/** Tools that do not change files. */
const HARMLESS = [...LOOKING, 'WebFetch', 'WebSearch', 'TodoWrite'];

/**
 * The user's own settings may allow more than the role. They stay in effect, because some logins and `CLAUDE.md`
 * depend on them.
 */
function editHolder(tools: Asked['tools']): Holder {
  const names = tools?.map(baseName);
  if (names?.every(name => HARMLESS.includes(name) || isMcp(name))) return held('it has no tool that writes');
  const files = "its file tools write in its folder, and where the user's own Claude Code settings let them";
  return advisory(
    !names || names.includes('Bash') ? `${files}; a command it runs can write anywhere` : files,
  );
}

function toolsHolder({ permission, tools, approvals }: Asked): Holder {
  const asked = tools ?? [];
  const left = permission === 'read' ? asked.filter(tool => !LOOKING.includes(baseName(tool))) : [];
  if (left.length > 0)
    return held(
      `${approvals === 'ask' ? 'each use is asked for' : 'left out'}, because permission is read: ${left.join(', ')}`,
    );
  const ruled = asked.filter(tool => tool !== baseName(tool));
  if (ruled.length === 0) return held();
  const which = 'it has only these tools; the rule in brackets';
  if (permission !== 'edit') return advisory(`${which} is not enforced`);
  return advisory(
    ruled.some(tool => WRITING.includes(baseName(tool)))
      ? `${which} is not enforced for tools that write, which can change its whole folder`
      : `${which} is enforced unless the user's own Claude Code settings allow more`,
  );
}
