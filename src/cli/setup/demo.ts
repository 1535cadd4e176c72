import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { visibleText } from '../../base/text.ts';
import { homeFolder, ownFolder } from '../../link/home.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, print } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { missingAlias, withOwnCommand } from '../own-command.ts';
import { shippedRoles } from '../package-files.ts';
import { type SquadInput, startAndWatch } from '../runs/run.ts';
import { wrap } from '../terminal/width.ts';

/** Files of the repository that the demo starts from. */
const DEMO_FILES: Record<string, string> = {
  'package.json': `${JSON.stringify({ name: 'demo-shop', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'README.md': '# Demo shop\n\nProducts have titles; their pages need readable addresses.\n',
};

const task = (text: string, script: string): string => `${text}\n\n\`\`\`script\n${script.trim()}\n\`\`\`\n`;

/** Four members that work in parallel and exchange files, like a real squad. */
const DEMO_MEMBERS: SquadInput['members'] = [
  {
    roleId: 'architect',
    task: task(
      'Decide how product titles become addresses, and write it down.',
      `
say Reading README.md.
sleep 400ms
write docs/slug.md
| # Addresses
|
| A title becomes lower case, every run of other characters than letters and digits becomes one dash,
| dashes at the ends go. Two products may not share an address.
sleep 300ms
say Decided: one pure function slug(title), in src/slug.js.
report Written to docs/slug.md: one pure function slug(title) in src/slug.js, tested with node --test.
`,
    ),
  },
  {
    roleId: 'backend-developer',
    task: task(
      'Write slug(title) as docs/slug.md says.',
      `
await docs/slug.md
say docs/slug.md is there; writing src/slug.js.
sleep 500ms
write src/slug.js
| export function slug(title) {
|   return title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
| }
run node --input-type=module -e "import { slug } from './src/slug.js'; console.log(slug('Blue Suede Shoes!'))"
report slug() is in src/slug.js and turns "Blue Suede Shoes!" into blue-suede-shoes.
`,
    ),
  },
  {
    roleId: 'frontend-developer',
    task: task(
      'Use slug(title) for the links of the product list.',
      `
await src/slug.js
sleep 300ms
write src/links.js
| import { slug } from './slug.js';
|
| export const link = title => \`<a href="/products/\${slug(title)}">\${title}</a>\`;
say The links use slug() now.
report src/links.js builds product links from slug(title).
`,
    ),
  },
  {
    roleId: 'qa-engineer',
    task: task(
      'Test slug(title) with real product names.',
      `
await src/slug.js
write test/slug.test.js
| import assert from 'node:assert/strict';
| import { test } from 'node:test';
| import { slug } from '../src/slug.js';
|
| test('spaces become dashes', () => assert.equal(slug('Blue Suede Shoes'), 'blue-suede-shoes'));
| test('accents survive as letters', () => assert.equal(slug('Crème Brûlée'), 'creme-brulee'));
sleep 400ms
say Running the tests.
try node --test
report One of two tests fails: slug('Crème Brûlée') gives cr-me-br-l-e, not creme-brulee. The rule in docs/slug.md says letters; src/slug.js knows only a to z. The test is in test/slug.test.js.
`,
    ),
  },
];

/** Overrides the settings of this machine, so that the demo is the same everywhere. */
const ENVIRONMENT = {
  SQUAD_AGENTS_DIR: shippedRoles,
  STATE_MODE: 'stateless',
  // The scripts call `node`, which may not be on PATH.
  PATH: [dirname(process.execPath), process.env.PATH].filter(Boolean).join(delimiter),
};

/** `squad demo`: a squad from start to end, on a throw-away repository, with agents that follow a script. */
export async function demoCommand(context: CliContext): Promise<number> {
  // Without a home nothing can run, and the repository would be left behind.
  ownFolder(homeFolder(process.env));
  const folder = makeRepository();
  const { style, out } = context;
  if (!context.json)
    print(context, [
      style.bold('A squad of four works on a small repository.'),
      ...wrap(
        'Demo: the agents follow a script, without a model or an API key. Their processes, files and exit codes are real.',
        out.columns,
      ).map(style.dim),
      style.dim(folder),
      '',
    ]);
  const input = { members: DEMO_MEMBERS, engine: 'scripted' };
  const code = await startAndWatch(
    { operation: 'start_squad', input, env: ENVIRONMENT },
    { ...context, workspace: folder },
  );
  if (context.json) return code;
  const alias = missingAlias(process.env.PATH, process.argv[1] ?? '', process.execPath);
  print(context, [
    '',
    style.bold('What they reported'),
    ...(await reports(folder)).flatMap(({ roleId, text }) => [
      `  ${style.role(roleId)}`,
      ...wrap(visibleText(text), out.columns - 4).map(line => `    ${line}`),
    ]),
    '',
    style.bold('What they left in the repository'),
    ...git(folder, 'status', '--short', '--untracked-files=all')
      .trimEnd()
      .split('\n')
      .map(line => `  ${line.slice(3)}`),
    '',
    style.bold('Now with your own agents'),
    ...[
      '  squad doctor                    shows which agent CLIs Squad finds here',
      '  squad run coder "Fix the test"  starts one in your project',
      '  squad install claude-code       adds it to an MCP client',
    ].map(line => withOwnCommand(line)),
    ...(alias === null
      ? []
      : ['', style.bold('`squad` is not on your PATH; this makes it a command of your shell'), `  ${alias}`]),
  ]);
  return code;
}

function makeRepository(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-demo-')));
  for (const [name, content] of Object.entries(DEMO_FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  git(folder, 'init', '--quiet');
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'A small web shop');
  return folder;
}

async function reports(workspace: string): Promise<{ roleId: string; text: string }[]> {
  using client = await HubClient.start();
  const { runs } = await client.call('list_runs', { workspace });
  return await Promise.all(
    runs
      .toSorted((a, b) => a.position - b.position)
      .map(async ({ id, roleId }) => {
        const { result } = await client.call('show_run', { run: id });
        return { roleId: roleId ?? '', text: result.result ?? '' };
      }),
  );
}

const GIT_TIMEOUT_MS = 20_000;

/** Ignores the user's git configuration: signing, hooks and templates would interfere. */
function git(folder: string, ...args: string[]): string {
  const author = ['-c', 'user.name=Squad demo', '-c', 'user.email=demo@localhost'];
  try {
    return execFileSync('git', ['-C', folder, ...author, ...args], {
      encoding: 'utf8',
      timeout: GIT_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    throw new SquadError('SPAWN_FAILED', 'The demo needs git, which was not found', {
      suggestions: ['Install git, then try again.'],
      cause: thrown,
    });
  }
}
