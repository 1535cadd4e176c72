import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CliContext, print } from '../context.ts';
import { DEMO_FILES, DEMO_MEMBERS } from './demo-script.ts';
import { startAndWatch } from './run.ts';

/** `squad demo`: the main job from end to end, on a throw-away repository, with agents that follow a script. */
export async function demoCommand(context: CliContext): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'squad-demo-')));
  for (const [name, content] of Object.entries(DEMO_FILES)) writeFileSync(join(folder, name), content);
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-C', folder, '-c', 'user.name=Squad demo', '-c', 'user.email=demo@localhost', ...args],
      { encoding: 'utf8' },
    );
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'A small web shop');
  const { style } = context;
  if (!context.json)
    print(context, [
      style.bold('A squad of four works on a small repository.'),
      style.dim(
        'Demo: these agents are scripted. No model is called and no key is needed; the processes, files and exit codes are real.',
      ),
      style.dim(folder),
      '',
    ]);
  const code = await startAndWatch(DEMO_MEMBERS, { ENGINE_COMMAND: 'scripted' }, false, {
    ...context,
    workspace: folder,
  });
  if (!context.json)
    print(context, [
      '',
      style.bold('What they left in the repository'),
      git('status', '--short').trimEnd(),
      '',
      'Now with your own agents:',
      "  export RUN_TEMPLATE='claude -p'         the command that runs one; the prompt comes on standard input",
      '  squad run coder "Fix the failing test"  in a project of yours',
      '  squad install claude-code               or let an MCP client do it',
    ]);
  return code;
}
