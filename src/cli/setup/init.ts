import { existsSync } from 'node:fs';
import { appendFile, lstat, readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { homeFolder, ownFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { EMPTY_MCP_CONFIG, SCHEMA_NAME } from '../../workspace/gateway/change-mcp-config.ts';
import { MCP_CONFIG_NAME } from '../../workspace/gateway/mcp-config-file.ts';
import { workspaceRoot } from '../../workspace/settings/cwd.ts';
import { trust } from '../../workspace/settings/trust.ts';
import { type CliContext, printResult } from '../context.ts';
import { withOwnCommand } from '../own-command.ts';
import { shippedRoles, writeMcpSchema, writeStarterFile } from '../package-files.ts';
import { initSubagent } from '../subagents/init-subagent.ts';

interface StarterMember {
  id: string;
  role: string;
  charter: string;
}

/** Starter files of a team, in the format that Squad reads. */
const teamStarters = (members: readonly StarterMember[]): [name: string, text: string][] => [
  [
    'team.md',
    `# Team

The members of the team. Squad shows this table as \`squad team\` and squad://roster; edit it freely. A name that is also a role can be given work: \`squad run coder "…"\`.

## Members

| Name | Role | Charter | Status |
| --- | --- | --- | --- |
${members.map(({ id, role, charter }) => `| ${id} | ${role} | \`${charter}\` | Active |\n`).join('')}`,
  ],
  [
    'decisions.md',
    `# Decisions

Decisions of the team, for people and agents: \`squad decisions --search WORDS\`. Each decision is a level-three heading:

    ### 2026-01-31: Dates are ISO 8601
    **By:** Ann
    **What:** Every date in a file or an API is written YYYY-MM-DD.
    **Why:** They sort as text, and nobody mistakes the month for the day.

Agents record decisions as files in decisions/inbox/; move those you want to keep into this file.
`,
  ],
  [
    'backlog.md',
    `# Backlog

Work to do; \`squad backlog\` lists it. Headings are states. An item is a checkbox with a title and optionally a priority, an owner and an issue:

    - [ ] Retry failed uploads [P1] @coder (#12)
      Notes are indented under it.

## Next

## Later

## Done
`,
  ],
];

const CONFIG = `${JSON.stringify({ stateMode: 'stateless' }, null, 2)}\n`;
/** Files that Squad writes while agents run, which should not be committed. */
const IGNORED = ['IAC.md', 'CONTEXT.md', '*.tmp'];
const IGNORE_FILE = join('.squad', '.gitignore');

/** `squad init`: creates the shipped roles, a config file and team files. Never overwrites; adds lines only to .gitignore. */
async function initCommand(context: CliContext): Promise<number> {
  const { root } = await workspaceRoot({
    flag: context.workspace,
    env: process.env,
    cwd: process.cwd(),
    userHome: homedir(),
  });
  // An existing agents/ folder takes precedence over .squad/agents/, so the roles go there.
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
  const written: string[] = [];
  const kept: string[] = [];
  const home = homeFolder(process.env);
  ownFolder(home);
  for (const [name, content] of files) {
    const isNew = await writeStarterFile(join(root, name), content);
    const isAdded = !isNew && name === IGNORE_FILE && (await addIgnored(join(root, name)));
    (isNew || isAdded ? written : kept).push(name);
    if (isNew) await trust(home, join(root, name), content);
  }
  const schema = join('.squad', SCHEMA_NAME);
  ((await writeMcpSchema(root)) ? written : kept).push(schema);
  for (const [name, content] of teamStarters(members)) {
    const file = join('.squad', name);
    ((await writeStarterFile(join(root, file), withOwnCommand(content))) ? written : kept).push(file);
  }

  return printResult(context, { root, written, kept }, () => [
    ...written.map(name => `wrote ${name}`),
    ...kept.map(name => `kept  ${name}`),
    '',
    `Edit the roles in ${relative(process.cwd(), join(root, roles)) || '.'}`,
    'Next:',
    withOwnCommand('  squad doctor                    shows which agent CLI will be used'),
    withOwnCommand('  squad run coder "Fix the test"'),
  ]);
}

/** Adds missing lines to an existing ignore file. False if it has them all. */
async function addIgnored(path: string): Promise<boolean> {
  // A link in a repository could point to any file of the user.
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

/** `squad init`: creates the files of a project or of a subagent. */
export async function initAny({ subagent, schema }: InitOptions, context: CliContext): Promise<number> {
  if (subagent !== undefined) return initSubagent(subagent, { schema }, context);
  if (schema)
    throw new SquadError('INVALID_INPUT', '--schema needs --subagent NAME', {
      suggestions: [
        '`squad init --subagent NAME --schema` creates a subagent with a schema.',
        '`squad init` without options creates the files of a project.',
      ],
    });
  return initCommand(context);
}
