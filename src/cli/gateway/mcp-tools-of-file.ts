import { resolve } from 'node:path';
import { visibleLine } from '../../base/visible-text.ts';
import type { Output } from '../../operations/operations.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { HubClient } from '../hub-client.ts';
import { printJson } from '../terminal/json.ts';
import { toolLines } from './tool-lines.ts';

/** `squad mcp tools FILE`: the tool that a subagent is, and the tools it has of its servers. */
export async function mcpToolsOfFile(given: string, context: CliContext): Promise<number> {
  const { readSubagentToInspect } = await import('../../workspace/subagents/subagent-file.ts');
  const env = { ...process.env } as Record<string, string>;
  const { name, description, servers, codeMode } = await readSubagentToInspect(given, env);
  const found: Output<'inspect_subagent_tools'> = servers
    ? await HubClient.ask({ workspace: context.workspace }, 'inspect_subagent_tools', { servers })
    : { tools: [], faults: [] };
  if (context.json)
    printJson(context.out, {
      file: resolve(given),
      name,
      description,
      codeMode: codeMode !== null,
      ...found,
    });
  else
    print(context, [
      `${context.style.bold(name)}: ${visibleLine(description)}`,
      '',
      ...toolLines(found, 'The subagent', context),
    ]);
  return found.faults.length > 0 ? EXIT.failed : EXIT.done;
}
