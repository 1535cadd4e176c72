import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { asksUser } from '../asks-user.ts';
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
  const flags = isConfined({ sandbox: ours })
    ? ['--sandbox=danger-full-access', ...NO_RULES]
    : mayDoAll({ permission, tools })
      ? [BYPASS]
      : [`--sandbox=${sandbox(permission, tools)}`, ...NO_RULES, ...NOTHING_BEYOND];
  return [...flags, ...toolFlags(tools)];
}

/**
 * Flags of `codex app-server`. Its sandbox is part of the request that opens the chat. It cannot ignore `.rules` files,
 * so commands that the user's files allow run without a question.
 */
export const codexServerPermissions = ({ tools }: Asked): string[] => [
  ...NOTHING_BEYOND,
  ...toolFlags(tools),
];

/**
 * Sandbox of `codex app-server`. If the user can be asked, Codex asks when its model wants to leave the sandbox, otherwise
 * it refuses.
 */
export function codexSandboxMode(options: RunOptions): { approvalPolicy: string; sandbox: string } {
  const { permission, tools } = options;
  const isOff = isConfined(options) || mayDoAll(options);
  return {
    approvalPolicy: asksUser(options) ? 'on-request' : 'never',
    sandbox: isOff ? 'danger-full-access' : sandbox(permission, tools),
  };
}

const isConfined = ({ sandbox: ours }: Pick<Asked, 'sandbox'>): boolean =>
  ours !== undefined && ours.level !== 'off';

/** True if Codex has no sandbox and asks for nothing. Its `.rules` files stay in effect then. */
export const mayDoAll = ({ permission, tools }: Pick<Asked, 'permission' | 'tools'>): boolean =>
  permission === 'full' && mayWrite(tools);

function toolFlags(tools: Asked['tools']): string[] {
  const flags: string[] = [];
  if (tools === null) return flags;
  if (!needs(tools, ['shell', 'look'])) flags.push('--disable', 'shell_tool');
  if (!needs(tools, ['search'])) flags.push('-c', 'web_search="disabled"');
  return flags;
}

const BYPASS = '--dangerously-bypass-approvals-and-sandbox';

/** Commands that `.rules` files allow would run outside the sandbox. */
const NO_RULES = ['--ignore-rules'];
/** Removes permissions that the user's configuration may add to the sandbox. */
const NOTHING_BEYOND = [
  ...['-c', 'sandbox_workspace_write.writable_roots=[]'],
  ...['-c', 'sandbox_workspace_write.network_access=false'],
];

const sandbox = (permission: Asked['permission'], tools: Asked['tools']): string =>
  permission === 'read' || !mayWrite(tools) ? 'read-only' : 'workspace-write';

const RULES =
  "outside it runs what the user allows, and without a question what the user's own Codex rules allow";

export const mayWrite = (tools: Asked['tools']): boolean =>
  tools === null || needs(tools, ['shell', 'write']);

const needs = (tools: readonly string[], means: readonly Means[]): boolean =>
  ownTools(tools, 'Codex', TABLE).some(need => (means as readonly string[]).includes(need));

export function codexPolicy(options: RunOptions): PolicyRule[] {
  const isFed = asksUser(options);
  const holder = (limit: string) => (isFed ? advisory(`${limit}; ${RULES}`) : held(limit));
  return policyRules(options, {
    read: holder('its sandbox lets it write nothing and reach no network'),
    edit: holder('its sandbox lets it write in its folder and the temp folder, and reach no network'),
    ...(isFed && {
      approvals: isConfined(options)
        ? advisory("inside Squad's sandbox Codex asks for nothing")
        : held('the user is asked before a command leaves the sandbox; without an answer it is refused'),
    }),
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
