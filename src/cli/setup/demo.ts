import { visibleText } from '../../base/text.ts';
import { homeFolder, ownFolder } from '../../link/home.ts';
import { DEMO_MEMBERS } from '../../operations/setup/demo.ts';
import { demoEnvironment, demoGit, makeDemoRepository } from '../../workspace/setup/demo-repository.ts';
import { type CliContext, print } from '../context.ts';
import { HubClient } from '../hub-client.ts';
import { missingAlias, withOwnCommand } from '../own-command.ts';
import { shippedRoles } from '../package-files.ts';
import { startAndWatch } from '../runs/run.ts';
import { wrap } from '../terminal/width.ts';

/** `squad demo`: a squad from start to end, on a throw-away repository, with agents that follow a script. */
export async function demoCommand(context: CliContext): Promise<number> {
  // The home folder is checked first. Without a usable one nothing can run, and the demo repository would be left
  // behind.
  ownFolder(homeFolder(process.env));
  const folder = await makeDemoRepository();
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
    { operation: 'start_squad', input, env: demoEnvironment(shippedRoles) },
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
    ...(await demoGit(folder, 'status', '--short', '--untracked-files=all'))
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
