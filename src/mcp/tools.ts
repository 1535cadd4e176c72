import type { Caller } from '../core/ports/workspace.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { templateOperation } from '../operations/roles/template-operation.ts';
import { subjectOf } from '../operations/scope.ts';
import type { CliId } from '../schema/engine-spec.ts';
import type { StateMode } from '../schema/run.ts';
import type { Toolset } from '../schema/toolset.ts';
import type { ToolDef } from '../wire/face/face.ts';
import { isOffered } from './offered.ts';
import { ownTool, toolDefinition } from './tool-list.ts';

/** What one client can call, and what of it is worth listing just now. */
export class Tools {
  readonly #services: Services;
  readonly #caller: Caller;
  readonly #toolsets: readonly Toolset[] | null;

  constructor(services: Services, caller: Caller, toolsets: readonly Toolset[] | null) {
    this.#services = services;
    this.#caller = caller;
    this.#toolsets = toolsets;
  }

  /** Always in the same order. A tool whose agent CLI is not there can be called, and then says how to get it. */
  async list(): Promise<ToolDef[]> {
    const { mode, has, hasTeam } = await this.#surroundings();
    const own = this.#own(hasTeam).filter(({ tool }) => tool?.needs === undefined || has(tool.needs));
    const templates = await this.#templates();
    return [
      ...own.map(operation => ownTool(operation, mode, this.nameOf(operation.name))),
      ...templates.map(operation => toolDefinition(operation, mode)),
    ];
  }

  async find(name: string): Promise<Operation | null> {
    const own = this.#own(true).find(operation => this.nameOf(operation.name) === name);
    if (own) return this.#own(false).includes(own) || (await this.#surroundings()).hasTeam ? own : null;
    return (await this.#templates()).find(operation => operation.name === name) ?? null;
  }

  /** An operation as this caller calls it: not every agent CLI lets its agents use every name. */
  nameOf(operation: string): string {
    const { runner, engines } = this.#services;
    const { parent } = this.#caller;
    const engine = parent && runner.current(parent.id)?.engine;
    return engines.clis().find(({ cli }) => cli === engine)?.toolNames[operation] ?? operation;
  }

  /** Asked anew each time: a run that has ended has fewer. */
  #own(hasTeam: boolean): Operation[] {
    // A subagent has what its file gives it.
    if (this.#caller.parent?.isSubagent) return [];
    const subject = subjectOf({ services: this.#services, caller: this.#caller });
    return OPERATIONS.filter((operation: Operation) =>
      isOffered(operation, subject, { toolsets: this.#toolsets, hasTeam }),
    );
  }

  async #templates(): Promise<Operation[]> {
    if (this.#caller.parent || !this.#toolsets?.includes('templates')) return [];
    const found = await this.#services.workspaces.templates(this.#caller, 'tool');
    return found.filter(({ fault }) => fault === null).map(templateOperation);
  }

  /** A workspace that cannot be read still has tools: the call then says what is wrong. */
  async #surroundings(): Promise<{ mode: StateMode; has(cli: CliId): boolean; hasTeam: boolean }> {
    const { workspaces, engines } = this.#services;
    const [[config, hasTeam], env] = await Promise.all([
      workspaces.open(this.#caller).then(
        async ({ config, team }) => [config, await team.hasFiles()] as const,
        () => [null, false] as const,
      ),
      workspaces.environment(this.#caller).catch(() => this.#caller.env),
    ]);
    return {
      hasTeam,
      mode: config?.stateMode.value ?? 'stateless',
      // An engine of the user's own may have taken the name.
      has: cli => engines.isPresent(cli, env) || Object.hasOwn(config?.engines.value ?? {}, cli),
    };
  }
}
