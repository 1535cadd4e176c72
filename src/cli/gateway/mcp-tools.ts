import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { emptyLines, warningLines } from './mcp-status.ts';
import { toolLines } from './tool-lines.ts';

type RoleTools = Output<'inspect_role_tools'>;

/** `squad mcp tools [--role X]`: what that role sees of other servers, and why not the rest. */
export async function mcpTools({ role }: { role?: string }, context: CliContext): Promise<number> {
  const found = await HubClient.ask(
    { workspace: context.workspace },
    'inspect_role_tools',
    role === undefined ? {} : { role },
  );
  if (context.json) printJson(context.out, found);
  else print(context, [...lines(found, context), ...warningLines(found.warnings, context)]);
  return EXIT.done;
}

function lines(found: RoleTools, context: CliContext): string[] {
  const { role, tools, state } = found;
  if (tools.length === 0 && state !== 'trusted') return emptyLines({ state });
  const who = role === null ? 'A run without a role' : `The role ${visibleLine(role)}`;
  return [...toolLines(found, who, context), ...(role === null ? ['', ROLE_HINT] : [])];
}

const ROLE_HINT = 'For a role: squad mcp tools --role ROLE';
