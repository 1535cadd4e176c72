import { join } from 'node:path';
import { modelSecrets } from '../core/gateway/secrets.ts';
import type { Elicited, ServerAsk } from '../core/inbox/elicitation.ts';
import type { AuditEntry, GatewayView } from '../core/ports/gateway.ts';
import { loadPlan } from '../core/runs/plan-file.ts';
import { hasOwnServers } from '../gateway/access/run-servers.ts';
import { AuditLog } from '../gateway/audit/audit-log.ts';
import { createGateway } from '../gateway/gateway.ts';
import { createConnect } from '../gateway/upstream/connect.ts';
import { createServiceTags, sweepServices } from '../process/programs/service.ts';
import { createProcessTable } from '../process/table/process-table.ts';
import type { RunId } from '../schema/ids.ts';
import type { Run } from '../schema/run.ts';
import { createMcpConfigs } from '../workspace/gateway/mcp-configs.ts';
import type { HubHome } from './open-home.ts';

interface GatewayPorts {
  /** The run with this id, or null if it is not running. */
  current(id: RunId): Run | null;
  /** Ids of all roles of the run's workspace. */
  rolesOf(run: Run): Promise<readonly string[]>;
  /** Adds a note to the run's result. */
  note(id: RunId, text: string): void;
  onDenied(run: Run, tool: string, count: number): void;
  /** Called with every entry that the audit log gets. */
  onCall(entry: AuditEntry): void;
  /** Asks a person on behalf of a server. */
  ask(question: ServerAsk): Promise<Elicited>;
}

export function openGateway({ home, version, clock, store, files, log }: HubHome, ports: GatewayPorts) {
  const warn = (message: string) => log.write('warning', message);
  const table = createProcessTable();
  const tags = createServiceTags(home);
  const configs = createMcpConfigs({ home, warn });
  const audit = new AuditLog({ folder: join(home, 'audit'), clock, warn });
  const gateway = createGateway({
    configs,
    pins: store,
    audit: {
      append(entry) {
        audit.append(entry);
        ports.onCall(entry);
      },
      check: () => audit.check(),
      flush: () => audit.flush(),
    },
    clock,
    warn,
    connect: createConnect({
      table,
      nextTag: () => tags.next(),
      clientInfo: { name: 'squad', version },
      onStderr: (server, line) => log.write('debug', `${server}: ${line}`),
      onSurvivor: (server, pid, command) =>
        warn(`Process ${pid} of ${server} could not be ended: ${command}`),
    }),
    variablesOf: async ({ id }) => ({ ...(await files.environment(id)), ...(await files.variables(id)) }),
    secretsOf: async run => {
      const spec = (await loadPlan(files, run))?.spec;
      if (spec?.kind !== 'native' || !spec.subagent) return [];
      return modelSecrets(spec.subagent.model, await files.environment(run.id));
    },
    rolesOf: ports.rolesOf,
    onDenied: ports.onDenied,
    onNote: ports.note,
    async onQuestion(runId, server, params, signal) {
      const run = ports.current(runId);
      return run ? { ...(await ports.ask({ run, server, params, signal })) } : { action: 'cancel' };
    },
  });
  return {
    gateway,
    configs,
    audit,
    /**
     * A new mark for the environment of a program that is not an agent. A later hub of this home uses the mark to
     * find and end the program.
     */
    nextTag: () => tags.next(),
    viewOf(id: RunId): GatewayView | null {
      const run = ports.current(id);
      return run && gateway.viewOf(run);
    },
    /**
     * Settles when the MCP servers of these runs are known, so that an agent's first request gets the complete list of
     * tools.
     */
    async prepare(runs: Run[]): Promise<void> {
      await Promise.all(runs.map(run => !hasOwnServers(run) && configs.of(run.workspace)));
      for (const run of runs) gateway.prepare(run);
    },
    /** Ends the MCP servers that a killed hub of this home left behind. Never rejects. */
    async sweep(): Promise<void> {
      try {
        for (const { pid, command } of await sweepServices(table, tag => tags.isLeftBehind(tag)))
          warn(`Process ${pid} of an earlier hub's servers could not be ended: ${command}`);
      } catch (thrown) {
        warn(`Could not search for servers that an earlier hub left behind: ${String(thrown)}`);
      }
    },
    async close(): Promise<void> {
      configs.close();
      await gateway.close();
      await audit.close();
    },
  };
}
