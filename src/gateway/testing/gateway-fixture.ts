import type { Timers } from '../../base/clock.ts';
import type {
  Audit,
  AuditEntry,
  ConfigInForce,
  ForwardedRequest,
  Gateway,
  GatewayView,
  Pin,
} from '../../core/ports/gateway.ts';
import { PLAIN_OPTIONS } from '../../core/testing/plain-options.ts';
import type { Secret } from '../../redaction/redactor.ts';
import { newRunId, newSquadId } from '../../schema/ids.ts';
import { McpConfig } from '../../schema/mcp-config.ts';
import type { Run } from '../../schema/run.ts';
import { createGateway, type GatewayOptions } from '../gateway.ts';
import type { Connect } from '../upstream/connect.ts';
import { VirtualTime } from './virtual-time.ts';

export const WORKSPACE = '/repo';

export interface FixtureOptions {
  connect: Connect;
  config: unknown;
  variables?: Record<string, string> | ((run: Run) => Record<string, string>);
  /** Secrets of runs that have their own servers. */
  secrets?: readonly Secret[];
  /** True if the configuration is not loaded before the first request for it. */
  isUnread?: boolean;
  timers?: Timers | undefined;
  time?: VirtualTime;
  pins?: Map<string, Pin[]>;
  workspace?: string;
  /** Ids of the roles of the workspace. */
  roles?: readonly string[];
  /** Audit log to use instead of the one in memory. */
  audit?: Audit | undefined;
  onQuestion?: GatewayOptions['onQuestion'];
}

/** A gateway whose files, servers and clock are in memory. */
export class GatewayFixture implements AsyncDisposable {
  readonly time: VirtualTime;
  readonly audit: AuditEntry[] = [];
  readonly warnings: string[] = [];
  readonly denied: string[] = [];
  readonly changes: string[] = [];
  readonly notes: string[] = [];
  readonly pins: Map<string, Pin[]>;
  readonly gateway: Gateway;
  readonly workspace: string;
  variableReads = 0;
  /** Saving pins waits for this promise. */
  pinGate: Promise<void> = Promise.resolve();
  /** Workspaces whose configuration is being watched, one entry per watcher. */
  readonly keepers: string[] = [];
  #config: McpConfig | null;
  #isRead: boolean;
  #listeners = new Set<(workspace: string) => void>();

  constructor(options: FixtureOptions) {
    this.time = options.time ?? new VirtualTime();
    this.#config = options.config === null ? null : McpConfig.parse(options.config);
    this.#isRead = options.isUnread !== true;
    this.pins = options.pins ?? new Map();
    this.workspace = options.workspace ?? WORKSPACE;
    this.gateway = createGateway({
      configs: {
        of: async () => {
          this.#isRead = true;
          return this.#inForce();
        },
        known: () => (this.#isRead ? this.#inForce() : null),
        keep: workspace => {
          this.keepers.push(workspace);
          return () => {
            this.keepers.splice(this.keepers.indexOf(workspace), 1);
          };
        },
        onChange: listener => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
        close() {},
      },
      pins: {
        pins: async key => this.pins.get(JSON.stringify(key)) ?? null,
        savePins: async (key, pins) => {
          await this.pinGate;
          this.pins.set(JSON.stringify(key), pins);
        },
      },
      audit: options.audit ?? {
        append: entry => {
          this.audit.push(entry);
        },
        check() {},
        flush: async () => {},
      },
      connect: options.connect,
      variablesOf: async run => {
        this.variableReads += 1;
        const { variables = {} } = options;
        const given = typeof variables === 'function' ? variables(run) : variables;
        const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
        return { PATH, NODE_COMPILE_CACHE, ...given };
      },
      secretsOf: async () => options.secrets ?? [],
      ...(options.roles && { rolesOf: async () => options.roles! }),
      clock: this.time,
      timers: options.timers ?? this.time,
      warn: message => this.warnings.push(message),
      onDenied: (_run, name, count) => this.denied.push(...Array<string>(count).fill(name)),
      onNote: (runId, text) => this.notes.push(`${runId} ${text}`),
      ...(options.onQuestion && { onQuestion: options.onQuestion }),
    });
    this.gateway.onChange((runId, what) => this.changes.push(`${runId} ${what}`));
  }

  reconfigure(config: unknown): void {
    this.#config = config === null ? null : McpConfig.parse(config);
    for (const listener of this.#listeners) listener(this.workspace);
  }

  run(roleId: string | null = 'coder', options: Partial<Run['options']> = {}): Run {
    const id = newRunId();
    return {
      id,
      squadId: newSquadId(),
      position: 0,
      lineageId: id,
      roleId,
      type: null,
      reviewOf: null,
      task: 'anything',
      title: null,
      cwd: this.workspace,
      directory: this.workspace,
      workspace: this.workspace,
      worktree: null,
      engine: 'scripted',
      outputIsEvents: false,
      model: null,
      stateMode: 'stateless',
      chatId: null,
      chatIsNew: true,
      parentId: null,
      depth: 0,
      client: null,
      timeoutMs: 60_000,
      keepLeftovers: false,
      options: { ...PLAIN_OPTIONS, ...options },
      policy: [],
      tokenHash: null,
      status: 'running',
      turn: 1,
      error: null,
      usage: null,
      notes: [],
      evidence: null,
      createdAt: 0,
      startedAt: 0,
      endedAt: null,
    };
  }

  view(run: Run): GatewayView {
    const view = this.gateway.viewOf(run);
    if (view === null) throw new Error('the run has no servers');
    return view;
  }

  #inForce(): ConfigInForce {
    return {
      file: `${this.workspace}/.squad/mcp-config.json`,
      state: this.#config === null ? 'none' : 'trusted',
      config: this.#config,
      warnings: [],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.close();
  }
}

export const plainRequest = (more: Partial<ForwardedRequest> = {}): ForwardedRequest => ({
  signal: new AbortController().signal,
  progress: null,
  client: null,
  ...more,
});

export const local = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  command: 'program',
  tools: ['*'],
  ...more,
});

/** Returns the first text of a tool's result. */
export function firstText(result: Record<string, unknown> | null): string {
  const [first] = (result?.content ?? []) as { text?: string }[];
  if (first?.text === undefined) throw new Error(`no text in ${JSON.stringify(result)}`);
  return first.text;
}

/** Returns the error with which a call was refused. */
export const refusalOf = (
  result: Record<string, unknown> | null,
): { code: string; message: string; tool_name: string; instance_id: string } =>
  JSON.parse(firstText(result)).error;

/** Returns a variable in the syntax of the configuration. */
export const variable = (name: string): string => `\${${name}}`;
