import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { visibleText } from '../../base/visible-text.ts';
import { SquadError } from '../../schema/error.ts';
import { type CliContext, print } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { shippedRoles } from '../package-files.ts';
import type { SquadInput } from '../runs/run.ts';
import { startAndWatch } from '../runs/start-and-watch.ts';
import { wrap } from '../terminal/wrap.ts';
import { DEMO_FILES, DEMO_MEMBERS } from './demo-script.ts';

/** Whatever this machine is set up for, the demo is the same everywhere. */
const SURROUNDINGS = {
  SQUAD_AGENTS_DIR: shippedRoles,
  STATE_MODE: 'stateless',
  // Its scripts call `node`, which somebody may have started by its path.
  PATH: [dirname(process.execPath), process.env.PATH].filter(Boolean).join(delimiter),
};

/** `squad demo`: the main job from end to end, on a throw-away repository, with agents that follow a script. */
export async function demoCommand(context: CliContext): Promise<number> {
  const folder = makeRepository();
  const { style, out } = context;
  const say = (lines: string[]) => {
    if (!context.json) print(context, lines);
  };
  say([
    style.bold('A squad of four works on a small repository.'),
    ...wrap(
      'Demo: these agents are scripted. No model is called and no key is needed; the processes, files and exit codes are real.',
      out.columns,
    ).map(style.dim),
    style.dim(folder),
    '',
  ]);
  const input: SquadInput = { members: DEMO_MEMBERS, engine: 'scripted' };
  const code = await startAndWatch(
    { operation: 'start_squad', input, env: SURROUNDINGS },
    { ...context, workspace: folder },
  );
  if (context.json) return code;
  say([
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
    '  squad doctor                    shows which agent CLIs Squad finds here',
    '  squad run coder "Fix the test"  in a project of yours',
    '  squad install claude-code       or from an MCP client',
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
  const client = await HubClient.start();
  try {
    const { runs } = await client.call('list_runs', { workspace });
    const inOrder = [...runs].sort((a, b) => a.position - b.position);
    return await Promise.all(
      inOrder.map(async ({ id, roleId }) => {
        const { result } = await client.call('show_run', { run: id });
        return { roleId: roleId ?? '', text: result.result ?? '' };
      }),
    );
  } finally {
    client.close();
  }
}

const GIT_TIMEOUT_MS = 20_000;

/** With nothing of the user's own git configuration: signing, hooks and templates would get in the way. */
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
    throw new SquadError('SPAWN_FAILED', 'The demo needs git, and it was not found', {
      suggestions: ['Install git, then try again.'],
      cause: thrown,
    });
  }
}
