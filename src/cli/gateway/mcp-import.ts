import { join, relative, resolve } from 'node:path';
import { visibleLine } from '../../base/text.ts';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { readTextFile } from '../../workspace/files/text-file.ts';
import {
  changeMcpConfig,
  currentMcpConfig,
  unlessChanged,
} from '../../workspace/gateway/change-mcp-config.ts';
import {
  FOREIGN_FILES,
  type Import,
  type ImportedServer,
  importServers,
} from '../../workspace/gateway/import-servers.ts';
import { startLines } from '../../workspace/gateway/mcp-config-file.ts';
import { confirmWithUser, refuseAgents } from '../arguments.ts';
import { type CliContext, hiddenWarningLines, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { writeMcpSchema } from '../package-files.ts';
import { inspect } from '../settings/inspect.ts';
import { printJson } from '../terminal/json.ts';
import { howItIsGiven, trustLines, withGiven, withServers } from './mcp-servers.ts';

export interface ImportOptions {
  role?: string[];
  shared?: boolean;
  yes?: boolean;
}

/** `squad mcp import [FILE]`: imports the servers that other clients of this project use. */
export async function mcpImport(
  file: string | undefined,
  options: ImportOptions,
  context: CliContext,
): Promise<number> {
  await refuseAgents();
  const inspected = await inspect(context);
  const { root } = inspected;
  const files = await filesToRead(root, file);
  const before = await currentMcpConfig(root);
  const found = importServers(files, before.config);
  const given = { roles: options.role ?? [], shared: options.shared ?? false };
  const ids = [...new Set([...found.servers, ...found.there].map(({ id }) => id))];
  const after = withGiven(withServers(before.text, found.servers, given), ids, given);
  if (!context.json) print(context, described(root, files, found, context));
  const question =
    found.servers.length > 0
      ? 'Write them into .squad/mcp-config.json?'
      : `Give ${ids.join(', ')} to ${[...given.roles.map(visibleLine), ...(given.shared ? ['every run'] : [])].join(', ')}?`;
  const go =
    after !== before.text &&
    (options.yes || (await confirmWithUser(question, '--yes writes them.', context)));
  const changed = go
    ? await changeMcpConfig(homeFolder(process.env), root, now => {
        unlessChanged(root, before, now);
        return after;
      })
    : null;
  if (changed && before.isNew) await writeMcpSchema(root);
  if (context.json)
    printJson(context.out, {
      files: files.map(each => each.file),
      servers: found.servers.map(({ server: _, ...rest }) => rest),
      there: found.there,
      left: found.left,
      written: changed,
    });
  else if (changed)
    print(context, [
      '',
      `Written to ${changed.file}.`,
      ...howItIsGiven(ids, given, inspected),
      ...trustLines(changed.isTrusted, given.roles),
    ]);
  else print(context, ['', 'Nothing was written.']);
  return EXIT.done;
}

async function filesToRead(
  root: string,
  file: string | undefined,
): Promise<{ file: string; text: string }[]> {
  const candidates = file === undefined ? FOREIGN_FILES.map(name => join(root, name)) : [resolve(file)];
  const read = await Promise.all(
    candidates.map(async path => ({ file: path, ...(await readTextFile(path)) })),
  );
  for (const each of read)
    if ('fault' in each) throw new SquadError('INVALID_INPUT', `${each.file} ${each.fault}`);
  const there = read.flatMap(each => ('text' in each ? { file: each.file, text: each.text } : []));
  if (there.length > 0) return there;
  throw new SquadError(
    'INVALID_INPUT',
    file === undefined
      ? `No MCP configuration to import was found in ${root}`
      : `There is no file ${candidates[0]}`,
    {
      suggestions: [
        `Squad looks for ${FOREIGN_FILES.join(', ')}. For another file, use \`squad mcp import FILE\`.`,
      ],
    },
  );
}

function described(
  root: string,
  files: { file: string; text: string }[],
  { servers, there, left }: Import,
  context: CliContext,
): string[] {
  return files.flatMap(({ file, text }) => [
    relative(root, file),
    ...servers.filter(each => each.file === file).flatMap(serverLines),
    ...there
      .filter(each => each.file === file)
      .map(({ name, id }) => `  ${visibleLine(name)} exists already, as ${id}`),
    ...left
      .filter(each => each.file === file)
      .map(({ name, reason }) => `  ${visibleLine(name)} is not imported: ${visibleLine(reason)}`),
    ...hiddenWarningLines(text, 'It', context).map(line => `  ${line}`),
  ]);
}

function serverLines({ name, id, server, variables, notes }: ImportedServer): string[] {
  const [what, ...more] = startLines(server);
  return [
    `  ${visibleLine(name)}${id === name ? '' : ` as ${id}`}: ${what}`,
    ...more.map(line => `    ${line}`),
    ...(variables.length > 0 ? [`    needs ${variables.join(', ')} in the environment`] : []),
    ...notes.map(note => `    ${visibleLine(note)}`),
  ];
}
