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
import { decline, isDeclined, isTrusted, trust, untrust } from '../../workspace/settings/trust.ts';
import { confirmWithUser, mayAsk, refuseAgents } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, print, printNotes, printResult } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { padEnd } from '../terminal/width.ts';
import { inspect } from './inspect.ts';

/** Describes what a configuration of MCP servers does once it is trusted. Empty for other files. */
function serverSummaryLines(file: string, content: string, context: CliContext): string[] {
  if (basename(file) !== basename(MCP_CONFIG_NAME)) return [];
  const { config } = checkMcpConfig(content.replace(/^\ufeff/, ''));
  return config ? [context.style.bold('Once trusted, this file'), ...linesOf(summaryOf(config)), ''] : [];
}

function linesOf({ starts, reaches, reads, gives }: McpSummary): string[] {
  const groups: [string, string[]][] = [
    ['starts', starts.map(({ server, command }) => `${server}: ${command}`)],
    ['reaches', reaches.map(({ server, url }) => `${server}: ${url}`)],
    ['reads', reads.length > 0 ? [`${reads.join(', ')} of your environment`] : []],
    ['gives', gives.map(({ role, servers }) => `${role ?? 'every run'}: ${servers.join(', ') || 'nothing'}`)],
  ];
  return groups.flatMap(([verb, items]) =>
    items.map((item, index) => `  ${padEnd(index === 0 ? verb : '', 8)}${visibleLine(item)}`),
  );
}

interface TrustOptions {
  yes?: boolean;
  remove?: boolean;
}

/** `squad trust`: shows files of this repository that run commands, and trusts them. A changed file must be trusted again. */
export async function trustCommand(
  given: string[],
  options: TrustOptions,
  context: CliContext,
): Promise<number> {
  const home = homeFolder(process.env);
  await refuseAgents();
  const inspected = given.length > 0 ? null : await inspect(context);
  const files = inspected?.untrusted ?? given.map(file => resolve(file));
  // An invalid file is not listed as untrusted, but "nothing needs your trust" would be wrong.
  const fault = inspected && (await faultOfMcpConfig(inspected.root));
  if (files.length === 0) {
    if (fault !== null) throw fault;
    return printResult(context, { files: [] }, () => ['Nothing in this workspace needs your trust.']);
  }
  const results: { file: string; trusted: boolean }[] = [];
  for (const file of files) {
    // A deleted file can be untrusted too, because a file with the same text may come back.
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
      if (!known && !context.json) print(context, fileLines(file, content, context));
      const yes =
        known ||
        options.yes ||
        (await confirmWithUser(
          'Squad will run the commands in this file. Trust it?',
          'Read the file, then: squad trust --yes',
          context,
        ));
      if (yes && !known) await trust(home, file, content);
      results.push({ file, trusted: yes });
    }
  }
  printResult(context, { files: results }, () =>
    results.map(({ file, trusted }) => `${trusted ? 'trusted' : 'not trusted'}  ${visibleLine(file)}`),
  );
  if (fault !== null) throw fault;
  return EXIT.done;
}

const fileLines = (file: string, content: string, context: CliContext): string[] => [
  context.style.bold(visibleLine(file)),
  visibleText(content.trimEnd()),
  '',
  ...serverSummaryLines(file, content, context),
  ...hiddenWarningLines(content, visibleLine(file), context),
];

/**
 * On a terminal: shows files that are not trusted and asks once about all of them. Does not ask again about content
 * that the user refused. The caller ensures that the terminal does not belong to an agent.
 */
export async function offerTrust(files: readonly string[], context: CliContext): Promise<void> {
  if (!mayAsk(context)) return;
  const home = homeFolder(process.env);
  const shown: { file: string; content: string }[] = [];
  for (const file of files) {
    const content = await readFile(file, 'utf8').catch(() => null); // the hub reports an unreadable file
    if (content === null || (await isTrusted(home, file, content))) continue;
    if (!(await isDeclined(home, file, content))) shown.push({ file, content });
  }
  if (shown.length === 0) return;
  print(context, [
    'Files of this project that have no effect until you trust them:',
    '',
    ...shown.flatMap(({ file, content }) => fileLines(file, content, context)),
  ]);
  const what = shown.length === 1 ? 'this file' : `these ${shown.length} files`;
  const yes = await confirmWithUser(
    `Squad will run the commands and grant what is in ${what}. Trust ${shown.length === 1 ? 'it' : 'them'}?`,
    'squad trust',
    context,
  );
  for (const { file, content } of shown) await (yes ? trust : decline)(home, file, content);
  if (!yes) printNotes(context, ['Not trusted, and not asked again until the content changes: squad trust']);
}

/** Why the MCP configuration cannot be trusted yet. Null if it is valid or missing. */
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
    return new SquadError('INVALID_INPUT', `${file} does not exist`, {
      suggestions: ['`squad trust` without a file shows what needs your trust.'],
      cause,
    });
  const why = cause.code === 'EISDIR' ? 'it is a folder' : cause.message;
  return new SquadError('INVALID_INPUT', `Cannot read ${file}: ${why}`, {
    suggestions: ['Give the path of a file that you can read.'],
    cause,
  });
}
