import { Argument, type Command } from 'commander';
import { type CommandMaker, examples } from '../arguments.ts';
import { openContext } from '../context.ts';
import { doctorClusterCommand } from '../hub/cluster.ts';
import { wrap } from '../terminal/width.ts';
import { completeCommand, completionCommand, SHELLS, type Shell } from './completion.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { CLIENT_NAMES } from './install/clients.ts';
import { installCommand } from './install.ts';
import { doctorPolicyCommand } from './policy/doctor-policy.ts';

/** Commands that set Squad up on this machine. */
export function addSetupCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'demo', 'Watch a scripted squad work, without an API key').action(
    does(context => demoCommand(context)),
  );
  command(program, 'install <client>', 'Add Squad to the configuration of an MCP client or an editor')
    .option('--project', 'Change the configuration file of the project instead of the user')
    .option('--undo', 'Undo the last install')
    .option('--dry-run', 'Show the change without writing it')
    .option('-y, --yes', 'Do not ask for confirmation')
    .addHelpText(
      'after',
      `\n${wrap(`Clients: ${CLIENT_NAMES.join(', ')}`, 80).join('\n')}\n${examples('squad install claude-code', 'squad install codex --dry-run', 'squad install codex --undo')}`,
    )
    .action(does((context, client: string, options: object) => installCommand(client, options, context)));
  command(program, 'doctor', 'Check everything that runs depend on')
    .option('--policy', 'Try forbidden actions on decoys at each sandbox level, and show what blocks them')
    .option('--cluster', 'Check all hubs that share the PostgreSQL database of this one')
    .action(
      does((context, { policy, cluster }: { policy?: boolean; cluster?: boolean }) =>
        cluster
          ? doctorClusterCommand(context)
          : policy
            ? doctorPolicyCommand(context)
            : doctorCommand(context),
      ),
    );
  command(program, 'completion', 'Print a shell completion script')
    .addHelpText('after', '\nExample: eval "$(squad completion bash)"')
    .addArgument(new Argument('<shell>', 'Your shell').choices(SHELLS))
    .action(does((context, shell: Shell) => completionCommand(shell, context)));
  program
    .command('complete [words...]', { hidden: true })
    .exitOverride()
    .action(async (words: string[]) => void (await completeCommand(program, words, openContext({}))));
}
