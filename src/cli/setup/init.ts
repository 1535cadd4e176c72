import { existsSync } from 'node:fs';
import { appendFile, lstat, readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { homeFolder } from '../../link/home.ts';
import { EMPTY_MCP_CONFIG, SCHEMA_NAME } from '../../workspace/gateway/change-mcp-config.ts';
import { MCP_CONFIG_NAME } from '../../workspace/gateway/mcp-config-file.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { trust } from '../../workspace/settings/trust.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { shippedRoles } from '../package-files.ts';
import { printJson } from '../terminal/json.ts';
import { layFile, layMcpSchema } from './starter-file.ts';
import { type StarterMember, teamStarters } from './team-starters.ts';

const CONFIG = `${JSON.stringify({ stateMode: 'stateless' }, null, 2)}\n`;
/** Written by Squad while it works, with their drafts; not for the repository. */
const IGNORED = ['IAC.md', 'CONTEXT.md', '*.tmp'];
const IGNORE_FILE = join('.squad', '.gitignore');

/** `squad init`: lays down the shipped roles, a config and the team's files to edit. Never overwrites; only adds to an ignore file. */
export async function initCommand(context: CliContext): Promise<number> {
  const { root } = await workspaceRoot({
    flag: context.workspace,
    env: process.env,
    cwd: process.cwd(),
    userHome: homedir(),
  });
  // agents/ comes first when roles are looked for: beside an existing one, ours would not be seen.
  const roles = existsSync(join(root, 'agents')) ? 'agents' : join('.squad', 'agents');
  const files: [string, string][] = [
    [join('.squad', 'squad.json'), CONFIG],
    [MCP_CONFIG_NAME, EMPTY_MCP_CONFIG],
    [IGNORE_FILE, `${IGNORED.join('\n')}\n`],
  ];
  const members: StarterMember[] = [];
  for (const name of (await readdir(shippedRoles)).sort())
    if (name.endsWith('.md')) {
      const text = await readFile(join(shippedRoles, name), 'utf8');
      files.push([join(roles, name), text]);
      const id = name.slice(0, -3);
      members.push({ id, role: /^name: (.+)$/m.exec(text)?.[1] ?? id, charter: join(roles, name) });
    }
  const starters = teamStarters(members).map(([name, text]): [string, string] => [
    join('.squad', name),
    text,
  ]);

  const written: string[] = [];
  const kept: string[] = [];
  const home = homeFolder(process.env);
  for (const [name, content] of files) {
    const isNew = await layFile(join(root, name), content);
    const isAdded = !isNew && name === IGNORE_FILE && (await addIgnored(join(root, name)));
    (isNew || isAdded ? written : kept).push(name);
    if (isNew) await trust(home, join(root, name), content);
  }
  const schema = join('.squad', SCHEMA_NAME);
  ((await layMcpSchema(root)) ? written : kept).push(schema);
  for (const [name, content] of starters)
    ((await layFile(join(root, name), content)) ? written : kept).push(name);

  if (context.json) printJson(context.out, { root, written, kept });
  else
    print(context, [
      ...written.map(name => `wrote ${name}`),
      ...kept.map(name => `kept  ${name}`),
      '',
      `The roles are yours to edit: ${relative(process.cwd(), join(root, roles)) || '.'}`,
      'Next:',
      '  squad doctor                    says which agent CLI will be used',
      '  squad run coder "Fix the test"',
    ]);
  return EXIT.done;
}

/** Adds what an ignore file of somebody else's lacks; false when it has it all. */
async function addIgnored(path: string): Promise<boolean> {
  // A link that came with a repository could lead to any file of the user's.
  if (!(await lstat(path)).isFile()) return false;
  const text = await readFile(path, 'utf8');
  const lines = text.split('\n').map(line => line.trim());
  const missing = IGNORED.filter(name => !lines.includes(name) && !lines.includes(`/${name}`));
  if (missing.length === 0) return false;
  await appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
  return true;
}
