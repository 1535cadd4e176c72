import type { Clock } from '../../base/clock.ts';
import { danglingNote } from '../../core/gateway/dangling-references.ts';
import type { Trouble } from '../../core/gateway/degradation.ts';
import { unmatchedNote } from '../../core/gateway/list-entries.ts';
import type { Audit, GatewayView } from '../../core/ports/gateway.ts';
import type { Secret } from '../../redaction/redactor.ts';
import type { RunId } from '../../schema/ids.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import type { Timers } from '../timers.ts';
import type { LeftOut } from '../upstream/left-out.ts';
import type { LongCalls } from '../upstream/long-calls.ts';
import type { PinBook } from '../upstream/pins.ts';
import type { Pool } from '../upstream/pool.ts';
import { CallAudit } from './call-audit.ts';
import type { DenialTally } from './denial-tally.ts';
import { Denials } from './denials.ts';
import { Finder } from './finder.ts';
import { Offers } from './offers.ts';
import { hasOwnServers, ownStartMs } from './own-servers.ts';
import { RunLists } from './run-lists.ts';
import { RunServers } from './run-servers.ts';
import { RunTroubles } from './run-troubles.ts';
import { faultOf, Standing } from './standing.ts';
import { RunView } from './view.ts';

export interface RunGateOptions {
  run: Run;
  pool: Pool;
  leftOut: LeftOut;
  audit: Audit;
  clock: Clock;
  timers: Timers;
  variablesOf(run: Run): Promise<Record<string, string>>;
  secretsOf?(run: Run): Promise<readonly Secret[]>;
  rolesOf?(run: Run): Promise<readonly string[]>;
  confirmed(workspace: string, server: string): PinBook;
  warn(message: string): void;
  longCalls: LongCalls;
  denialTally: DenialTally;
  /** `count`: how many times since it was told last. */
  onDenied?(run: Run, name: string, count: number): void;
  onTrouble?(runId: RunId, text: string): void;
}

/** All that belongs to one run at the gateway. */
export interface RunGate {
  readonly view: GatewayView;
  /** Whether it has any server at all. */
  hasServers(): boolean;
  /** From the next question on this counts; its servers are started, or, if they are its own, when they are asked for. */
  configure(config: McpConfig | null): void;
  /** What was worked out for a list is worked out anew. */
  invalidate(): void;
  /** For the result of the run. */
  note(text: string): void;
  /** One of its servers is out of order. */
  trouble(server: string, trouble: Trouble, fault: string): void;
  /** The run is over. */
  release(): void;
}

export function createRunGate(options: RunGateOptions): RunGate {
  const { run, pool, leftOut, clock, timers, warn } = options;
  const isOwn = hasOwnServers(run);
  const root = isOwn ? run.directory : run.workspace;
  const troubles = new RunTroubles(text => options.onTrouble?.(run.id, text));
  const servers = new RunServers({
    runId: run.id,
    workspace: run.workspace,
    roleId: run.roleId,
    roleMcp: run.options.mcp,
    roots: { WORKSPACE_ROOT: run.worktree?.workspace ?? root, SQUAD_ROOT: root },
    isOwn,
    ...(isOwn && { startMs: (id: string) => ownStartMs(run.options.servers, id) }),
    pool,
    variables: () => options.variablesOf(run),
    secrets: async () => (isOwn ? ((await options.secretsOf?.(run)) ?? []) : []),
    ...(!isOwn && {
      ...(options.rolesOf && { roles: () => options.rolesOf!(run) }),
      confirmed: (server: string) => options.confirmed(run.workspace, server),
    }),
    onJudged(id, fault) {
      if (isOwn) return;
      leftOut.judged(run.workspace, id, fault);
      if (fault !== null) warn(`The MCP server ${id} of ${run.workspace} is left out: ${fault}.`);
    },
  });
  const offers = new Offers(servers, name =>
    warn(
      `Two tools of the MCP servers of ${run.workspace} would both be called ${name}: neither is offered.`,
    ),
  );
  const audit = new CallAudit(options.audit, run, options.longCalls);
  const hasOwnTools = run.options.tools === null || run.options.tools.length > 0;
  const standing = new Standing(servers, offers, clock, hasOwnTools);
  const view = new RunView({
    runId: run.id,
    servers,
    lists: new RunLists(servers, offers, timers, isOwn),
    standing,
    denials: new Denials({
      runId: run.id,
      servers,
      audit,
      tally: options.denialTally,
      onDenied: (name, count) => options.onDenied?.(run, name, count),
    }),
    finder: new Finder({ servers, offers, standing, audit }),
    forwarding: {
      ...{ runId: run.id, audit, clock },
      describe: ({ id }, fault) => standing.unavailable(id, fault),
    },
  });

  return {
    view,
    hasServers: () => servers.list.length + servers.disabled.length > 0,
    configure(config) {
      servers.configure(config);
      offers.invalidate();
      if (!isOwn) void warm();
    },
    invalidate() {
      offers.invalidate();
      noteUnmatched();
    },
    note: text => troubles.note(text),
    trouble: (server, trouble, fault) => troubles.tell(server, trouble, fault),
    release: () => servers.release(),
  };

  function noteUnmatched(): void {
    for (const { entry, known } of servers.unmatched())
      troubles.note(unmatchedNote(entry, known, run.roleId));
  }

  async function warm(): Promise<void> {
    await servers.ready();
    offers.invalidate();
    noteUnmatched();
    for (const note of servers.unknownServers()) troubles.note(note);
    for (const reference of servers.dangling()) troubles.note(danglingNote(reference, run.roleId));
    for (const { server, fault } of servers.disabled) troubles.tell(server, 'absent', fault);
    for (const server of servers.list) {
      // Others may have found out before.
      const fault = faultOf(server);
      if (fault !== null) troubles.tell(server.id, 'absent', fault);
      void server.pooled?.warm();
    }
  }
}
