import type { Command } from 'commander';
import { VIEWS } from '../../schema/web-ui.ts';
import { type CommandMaker, examples, wholeNumber } from '../arguments.ts';
import { showAudit, verifyAudit } from '../gateway/audit.ts';
import { clusterDemoCommand } from './cluster-demo.ts';
import { grantCommand, migrateCommand, moveCommand } from './database.ts';
import { hubLog, hubStart, hubStatus, hubStop, type PruneOptions, pruneCommand, upCommand } from './hub.ts';
import { type JoinOptions, joinCommand } from './join.ts';
import { openCommand } from './open.ts';

/** Commands for the web UI, the hub and the audit log. */
export function addHubCommands(program: Command, { command, does }: CommandMaker): void {
  command(program, 'open [target]', 'Open the web UI in your browser')
    .usage('[options] [RUN | SQUAD | PAGE]')
    .addHelpText('after', `\nPages: ${VIEWS.join(', ')}`)
    .option('--no-browser', 'Only print the address')
    .option(
      '--ip',
      'Use http://127.0.0.1, for browsers that do not resolve *.localhost (less safe: see SECURITY.md)',
    )
    .action(
      does((context, target: string | undefined, options: { browser: boolean; ip?: boolean }) =>
        openCommand(target, options, context),
      ),
    );
  command(program, 'up', 'Keep the hub and the web UI running until Ctrl-C').action(
    does(context => upCommand(context)),
  );
  command(program, 'prune', 'Delete old runs and their output')
    .option('--days <n>', 'Delete runs that ended more than this many days ago (default: prune.days)')
    .option('--dry-run', 'Only count the runs that would be deleted')
    .action(does((context, options: PruneOptions) => pruneCommand(options, context)));

  const audit = command(program, 'audit', 'Show calls of agents to other MCP servers, newest last')
    .option('--run <run>', 'Only calls of this run')
    .option('--denied', 'Only denied calls')
    .option('-n, --limit <n>', 'Maximum number of calls', '50')
    .action(does((context, options: object) => showAudit(options, context)));
  command(audit, 'verify', 'Check that nobody changed the audit log').action(
    does(context => verifyAudit(context)),
  );

  const database = program
    .command('db')
    .description('Change the database while the hub is stopped')
    .exitOverride();
  command(database, 'migrate', 'Create or update the tables, as the hub does when it starts').action(
    does(context => migrateCommand(context)),
  );
  command(
    database,
    'move',
    'Copy all data from SQLite to the PostgreSQL database of SQUAD_DATABASE_URL',
  ).action(does(context => moveCommand(context)));
  command(database, 'grant <user>', 'Print the SQL that lets a database user run hubs, and nothing else')
    .option('--apply', 'Carry it out, as the owner of the tables')
    .action(
      does((context, user: string, options: { apply?: boolean }) => grantCommand(user, options, context)),
    );

  const cluster = program
    .command('cluster')
    .description('Try several hubs on one PostgreSQL database')
    .exitOverride();
  command(
    cluster,
    'demo',
    'Watch three hubs on one PostgreSQL database, all on this machine, without an API key',
  ).action(does(context => clusterDemoCommand(context)));

  const hub = program
    .command('hub')
    .description('Manage the hub, the background process that owns all runs')
    .exitOverride();
  command(hub, 'start', 'Start the hub unless it is running').action(does(context => hubStart(context)));
  command(hub, 'stop', 'Stop the hub; agents keep running, and the next command reconnects to them')
    .option('--force', 'Kill the hub if it does not stop by itself')
    .action(does((context, options: object) => hubStop(options, context)));
  command(hub, 'status', 'Show the status of the hub').action(does(context => hubStatus(context)));
  command(hub, 'join [url]', 'Let the hub of this home use a PostgreSQL database from now on')
    .option('--move', 'Copy everything from the SQLite file first; the database must be empty')
    .option('-y, --yes', 'Leave the data of the SQLite file where it is, without asking')
    .option('--undo', 'Use the SQLite file again')
    .addHelpText(
      'after',
      `\n\`-\` reads the URL from standard input.\n${examples('squad hub join "postgres://squad@db.example.com/squad?sslmode=verify-full"')}`,
    )
    .action(
      does((context, url: string | undefined, options: JoinOptions) => joinCommand(url, options, context)),
    );
  command(hub, 'log', 'Print the end of the hub log')
    .option(
      '-n, --lines <n>',
      'Number of lines to print',
      text => wholeNumber('--lines', text, 0, 100_000),
      50,
    )
    .action(does((context, options: { lines: number }) => hubLog(options, context)));
}
