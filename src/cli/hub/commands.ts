import type { Command } from 'commander';
import { VIEWS } from '../../schema/web-paths.ts';
import type { CommandMaker } from '../arguments.ts';
import { showAudit, verifyAudit } from '../gateway/audit.ts';
import { hubLog, hubStart, hubStatus, hubStop, upCommand } from './hub.ts';
import { openCommand } from './open.ts';

/** The page, the hub itself, and what it keeps a record of. */
export function addHubCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'open [what]', `the page, in your browser; what: a run, a squad, or ${VIEWS.join(', ')}`)
    .option('--no-browser', 'only print its address')
    .option(
      '--ip',
      'use http://127.0.0.1, for a browser that does not resolve *.localhost (less safe: SECURITY.md)',
    )
    .action(
      does((context, what: string | undefined, options: { browser: boolean; ip?: boolean }) =>
        openCommand(what, options, context),
      ),
    );
  command(program, 'up', 'keep the hub and the page there until Ctrl-C').action(
    does(context => upCommand(context)),
  );

  const audit = command(program, 'audit', 'what agents asked of other servers, the newest last')
    .option('--run <run>', 'only of this run')
    .option('--denied', 'only what they did not get')
    .option('-n, --limit <n>', 'how many', '50')
    .action(does((context, options: object) => showAudit(options, context)));
  command(audit, 'verify', 'whether the audit log is what was written').action(
    does(context => verifyAudit(context)),
  );

  const hub = program
    .command('hub')
    .description('the process in the background that owns the runs')
    .exitOverride();
  command(hub, 'start', 'start it if it is not there').action(does(context => hubStart(context)));
  command(hub, 'stop', 'stop it; agents go on, and the next command finds them')
    .option('--force', 'kill it if it does not end by itself')
    .action(does((context, options: object) => hubStop(options, context)));
  command(hub, 'status', 'what it is doing').action(does(context => hubStatus(context)));
  command(hub, 'log', 'the end of its log')
    .option('-n, --lines <n>', 'how many lines', '50')
    .action(does((context, options: object) => hubLog(options, context)));
}
