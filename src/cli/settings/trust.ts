import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { visibleLine, visibleText } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { currentMcpConfig } from '../../workspace/gateway/change-mcp-config.ts';
import {
  checkMcpConfig,
  MCP_CONFIG_NAME,
  type McpSummary,
  mcpConfigPath,
  summaryOf,
} from '../../workspace/gateway/mcp-config-file.ts';
import { isTrusted, trust, untrust } from '../../workspace/settings/trust.ts';
import { confirmWithUser, refuseAgents } from '../arguments.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { hiddenWarningLines } from '../terminal/hidden-warning.ts';
import { printJson } from '../terminal/json.ts';
import { padEnd } from '../terminal/width.ts';
import { inspect } from './inspect.ts';

/** What a configuration of other MCP servers would do, before somebody says yes to it; nothing for other files. */
function serverSummaryLines(file: string, content: string, context: CliContext): string[] {
  if (basename(file) !== basename(MCP_CONFIG_NAME)) return [];
  const { config } = checkMcpConfig(content.replace(/^\ufeff/, ''));
  return config
    ? [context.style.bold('Once trusted, for agents at work here it'), ...linesOf(summaryOf(config)), '']
    : [];
}

function linesOf({ starts, reaches, reads, gives }: McpSummary): string[] {
  const groups: [string, string[]][] = [
    ['starts', starts.map(({ server, command }) => `${server}: ${command}`)],
    ['reaches', reaches.map(({ server, url }) => `${server}: ${url}`)],
    ['reads', reads.length > 0 ? [`${reads.join(', ')} of your environment`] : []],
    ['gives', gives.map(({ role, servers }) => `${role ?? 'every run'}: ${servers.join(', ') || 'nothing'}`)],
  ];
  return groups.flatMap(([verb, items]) =>
    items.map((item, at) => `  ${padEnd(at === 0 ? verb : '', 8)}${visibleLine(item)}`),
  );
}

interface TrustOptions {
  yes?: boolean;
  remove?: boolean;
}

/** `squad trust`: shows what came with this repository and names commands, and lets it take effect. By content: a change asks again. */
export async function trustCommand(
  given: string[],
  options: TrustOptions,
  context: CliContext,
): Promise<number> {
  const home = homeFolder(process.env);
  await refuseAgents();
  const inspected = given.length > 0 ? null : await inspect(context);
  const files = inspected?.untrusted ?? given.map(file => resolve(file));
  // What cannot be read waits for nothing, and to say that nothing waits would be no answer.
  const unsound = inspected && (await faultOfMcpConfig(inspected.root));
  if (files.length === 0) {
    if (unsound !== null) throw unsound;
    if (context.json) printJson(context.out, { files: [] });
    else print(context, ['Nothing in this workspace waits for your trust.']);
    return EXIT.done;
  }
  const results: { file: string; trusted: boolean }[] = [];
  for (const file of files) {
    // Also from a file that is gone: the text it had may come back.
    if (options.remove && (await untrust(home, file))) {
      results.push({ file, trusted: false });
      continue;
    }
    const content = await readFile(file, 'utf8').catch(thrown => {
      throw unreadable(file, thrown);
    });
    if (options.remove) {
      results.push({ file, trusted: false });
    } else {
      const known = await isTrusted(home, file, content);
      if (!known && !context.json)
        print(context, [
          context.style.bold(visibleLine(file)),
          visibleText(content.trimEnd()),
          '',
          ...serverSummaryLines(file, content, context),
          ...hiddenWarningLines(content, visibleLine(file), context),
        ]);
      const yes =
        known ||
        options.yes ||
        (await confirmWithUser(
          'Squad will run the commands named here. Trust it?',
          'Read the file, then: squad trust --yes',
          context,
        ));
      if (yes && !known) await trust(home, file, content);
      results.push({ file, trusted: yes });
    }
  }
  if (context.json) printJson(context.out, { files: results });
  else
    print(
      context,
      results.map(({ file, trusted }) => `${trusted ? 'trusted' : 'not trusted'}  ${visibleLine(file)}`),
    );
  if (unsound !== null) throw unsound;
  return EXIT.done;
}

/** Why the file of servers cannot be trusted yet; null when there is none, or it is sound. */
async function faultOfMcpConfig(root: string): Promise<SquadError | null> {
  try {
    await currentMcpConfig(root);
    return null;
  } catch (thrown) {
    return thrown instanceof SquadError
      ? thrown
      : unreadable(mcpConfigPath(root), thrown as NodeJS.ErrnoException);
  }
}

function unreadable(file: string, cause: NodeJS.ErrnoException): SquadError {
  if (cause.code === 'ENOENT')
    return new SquadError('INVALID_INPUT', `There is no file ${file}`, {
      suggestions: ['squad trust   without a name shows what waits here'],
      cause,
    });
  const why = cause.code === 'EISDIR' ? 'it is a folder' : cause.message;
  return new SquadError('INVALID_INPUT', `${file} cannot be read: ${why}`, { cause });
}
