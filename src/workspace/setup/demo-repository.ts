import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runProgram } from '../../process/programs/run-program.ts';
import { SquadError } from '../../schema/error.ts';

/** Files that the demo's repository starts with. */
const DEMO_FILES: Record<string, string> = {
  'package.json': `${JSON.stringify({ name: 'demo-shop', type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'README.md': '# Demo shop\n\nProducts have titles; their pages need readable addresses.\n',
};

/** Overrides the user's settings, so that the demo is the same on every machine. */
export const demoEnvironment = (shippedRoles: string): Record<string, string> => ({
  SQUAD_AGENTS_DIR: shippedRoles,
  STATE_MODE: 'stateless',
  // The folder of `node` is added to PATH because the demo's scripts call `node`.
  PATH: [dirname(process.execPath), process.env.PATH].filter(Boolean).join(delimiter),
});

/** Creates a temporary repository for the demo. Throws SPAWN_FAILED if git is missing. */
export async function makeDemoRepository(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-demo-')));
  for (const [name, content] of Object.entries(DEMO_FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  await demoGit(folder, 'init', '--quiet');
  await demoGit(folder, 'add', '.');
  await demoGit(folder, 'commit', '--quiet', '--message', 'A small web shop');
  return folder;
}

const GIT_TIMEOUT_MS = 20_000;
const MAX_BYTES = 1024 * 1024;

/** The user's git configuration is ignored, because signing, hooks and templates would interfere. */
export async function demoGit(folder: string, ...args: string[]): Promise<string> {
  const author = ['-c', 'user.name=Squad demo', '-c', 'user.email=demo@localhost'];
  const { code, stdout, stderr, cut } = await runProgram({
    argv: ['git', '-C', folder, ...author, ...args],
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    limitMs: GIT_TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  });
  if (code === 0) return stdout.toString();
  if (cut === 'missing')
    throw new SquadError('SPAWN_FAILED', 'The demo needs git, which was not found', {
      suggestions: ['Install git, then try again.'],
    });
  throw new SquadError('GIT_FAILED', `The demo's repository could not be made: ${stderr.trim() || cut}`, {
    suggestions: ['Check that the folder for temporary files is writable, then try again.'],
  });
}
