import { existsSync } from 'node:fs';
import { appendFile, lstat, readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { homeFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { EMPTY_MCP_CONFIG, SCHEMA_NAME } from '../../workspace/gateway/change-mcp-config.ts';
import { MCP_CONFIG_NAME } from '../../workspace/gateway/mcp-config-file.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { trust } from '../../workspace/settings/trust.ts';
import { type CliContext, print } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { shippedRoles } from '../package-files.ts';
import { initSubagent } from '../subagents/init-subagent.ts';
import { printJson } from '../terminal/json.ts';
import { layMcpSchema, writeStarterFile } from './starter-file.ts';

interface StarterMember {
  id: string;
  role: string;
  charter: string;
}

/** What `squad init` lays down for a team to begin with: short, and in the form Squad reads. */
const teamStarters = (members: readonly StarterMember[]): [name: string, text: string][] => [
  [
    'team.md',
    `# Team

Who works here. Squad shows this table as \`squad team\` and squad://roster; edit it freely. A name that is also a role can be given work: \`squad run coder "…"\`.

## Members

| Name | Role | Charter | Status |
| --- | --- | --- | --- |
${members.map(({ id, role, charter }) => `| ${id} | ${role} | \`${charter}\` | Active |\n`).join('')}`,
  ],
  [
    'decisions.md',
    `# Decisions

What the team has decided, for people and agents to find: \`squad decisions --search WORDS\`. Each decision is a heading of level three:

    ### 2026-01-31: Dates are ISO 8601
    **By:** Ann
    **What:** Every date in a file or an API is written YYYY-MM-DD.
    **Why:** They sort as text, and nobody mistakes the month for the day.

What agents record comes as files into decisions/inbox/; move into this file what is to stay.
`,
  ],
  [
    'backlog.md',
    `# Backlog

What is to be done: \`squad backlog\` shows it. Headings are states; an item is a box with a title, and may have a priority, an owner and an issue:

    - [ ] Retry failed uploads [P1] @coder (#12)
      Notes are indented under it.

## Next

## Later

## Done
`,
  ],
];

const CONFIG = `${JSON.stringify({ stateMode: 'stateless' }, null, 2)}\n`;
/** Written by Squad while it works, with their drafts; not for the repository. */
const IGNORED = ['IAC.md', 'CONTEXT.md', '*.tmp'];
const IGNORE_FILE = join('.squad', '.gitignore');

/** `squad init`: lays down the shipped roles, a config and the team's files to edit. Never overwrites; only adds to an ignore file. */
async function initCommand(context: CliContext): Promise<number> {
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
    const isNew = await writeStarterFile(join(root, name), content);
    const isAdded = !isNew && name === IGNORE_FILE && (await addIgnored(join(root, name)));
    (isNew || isAdded ? written : kept).push(name);
    if (isNew) await trust(home, join(root, name), content);
  }
  const schema = join('.squad', SCHEMA_NAME);
  ((await layMcpSchema(root)) ? written : kept).push(schema);
  for (const [name, content] of starters)
    ((await writeStarterFile(join(root, name), content)) ? written : kept).push(name);

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

export interface InitOptions {
  subagent?: string;
  schema?: boolean;
}

/** `squad init`: a project's files, or a subagent's. What belongs to the one is not taken for a wish for the other. */
export async function initAny({ subagent, schema }: InitOptions, context: CliContext): Promise<number> {
  if (subagent !== undefined) return initSubagent(subagent, { schema }, context);
  if (schema)
    throw new SquadError('INVALID_INPUT', '--schema is for a new subagent, and none is named', {
      suggestions: ['squad init --subagent NAME --schema', 'squad init   lays down the files of a project'],
    });
  return initCommand(context);
}
