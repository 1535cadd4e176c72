import { z } from 'zod';
import { allowed, type Subject } from '../core/policy.ts';
import type { Caller } from '../core/ports/workspace.ts';
import { subjectOf } from '../operations/agent-services.ts';
import type { Operation, Services } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { templateOperation } from '../operations/roles/template-operation.ts';
import type { CliId } from '../schema/engine-spec.ts';
import type { StateMode } from '../schema/run.ts';
import type { Toolset } from '../schema/toolset.ts';
import type { JsonObjectSchema, ToolDef } from '../wire/face/face.ts';

interface Wanted {
  /** Toolsets that the client named. Null if it named none and gets the default tools. */
  toolsets: readonly Toolset[] | null;
  /** Whether the client's workspace has team files. */
  hasTeam: boolean;
}

/**
 * Whether a caller sees this tool and can call it. Policy decides for an agent, the toolsets decide for a client of the
 * user.
 */
function isOffered(operation: Operation, subject: Subject, { toolsets, hasTeam }: Wanted): boolean {
  const { tool } = operation;
  if (!tool) return false;
  if (subject.kind === 'run') return allowed(subject, operation);
  if (tool.forAgents === true) return false;
  const toolset = tool.toolset ?? 'core';
  if (toolsets !== null) return toolsets.includes(toolset);
  return toolset === 'core' || (hasTeam && tool.isDefaultWithTeam === true);
}

const definitions = new Map<string, ToolDef>();

/** A tool of Squad as clients list it. Cached, because its schema does not change while the hub runs. */
function ownTool(operation: Operation, mode: StateMode, name: string): ToolDef {
  const key = `${mode} ${name}`;
  const definition = definitions.get(key) ?? { ...toolDefinition(operation, mode), name };
  definitions.set(key, definition);
  return definition;
}

/** The definition that clients see; with `isWhole` all fields, for the reference. */
export function toolDefinition(operation: Operation, mode: StateMode, isWhole = false): ToolDef {
  const tool = operation.tool!;
  const input =
    (mode === 'stateless' && tool.statelessInput) || (!isWhole && tool.listedInput) || operation.input;
  return {
    name: operation.name,
    title: tool.title,
    description: tool.description,
    inputSchema: jsonSchema(input, 'input', isWhole),
    // The output schema is left out for clients, because every byte of it costs context, and a result explains
    // itself.
    ...(isWhole && { outputSchema: jsonSchema(operation.output, 'output') }),
    annotations: { readOnlyHint: tool.readOnly },
    ...(tool.task && !isWhole && { execution: { taskSupport: 'optional' } }),
  };
}

/** Defaults are left out, because every byte of a schema costs every client context. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', isWhole = false): JsonObjectSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.propertyNames) delete node.propertyNames;
      if (node.additionalProperties && Object.keys(node.additionalProperties).length === 0)
        delete node.additionalProperties;
      // The minimum length is left out, because a call with an empty text is refused with a better error message.
      if (io === 'input' && !isWhole && node.minLength === 1) delete node.minLength;
      if (io === 'input') return;
      // Fields may be added to a result without breaking a client that validates it.
      delete node.additionalProperties;
      if (Object.keys(node.properties ?? { some: true }).length === 0) delete node.properties;
      mergeNull(node);
    },
  });
  return { ...rest, type: 'object' };
}

/** Writes "this type or null" in its short form, if there is one. */
function mergeNull(node: z.core.JSONSchema.BaseSchema): void {
  const [value, none, ...more] = (node.anyOf ?? []) as z.core.JSONSchema.BaseSchema[];
  if (more.length > 0 || none?.type !== 'null' || typeof value?.type !== 'string' || value.enum) return;
  delete node.anyOf;
  Object.assign(node, value, { type: [value.type, 'null'] });
}

/** Tools that one client can call, and which of them to list now. */
export function toolsOf(services: Services, caller: Caller, toolsets: readonly Toolset[] | null) {
  const { workspaces, engines, runner } = services;
  const { parent } = caller;
  return { list, find, nameOf };

  /**
   * Lists tools, always in the same order. A tool whose agent CLI is missing can still be called, and the error says
   * how to install the CLI.
   */
  async function list(): Promise<ToolDef[]> {
    const { mode, has, hasTeam } = await surroundings();
    const listed = own(hasTeam).filter(({ tool }) => tool?.needs === undefined || has(tool.needs));
    return [
      ...listed.map(operation => ownTool(operation, mode, nameOf(operation.name))),
      ...(await templates()).map(operation => toolDefinition(operation, mode)),
    ];
  }

  async function find(name: string): Promise<Operation | null> {
    const found = own(true).find(operation => nameOf(operation.name) === name);
    if (found) return own(false).includes(found) || (await surroundings()).hasTeam ? found : null;
    return (await templates()).find(operation => operation.name === name) ?? null;
  }

  /** The name under which this caller can call an operation: some agent CLIs do not accept every name. */
  function nameOf(operation: string): string {
    const engine = parent && runner.current(parent.id)?.engine;
    return engines.clis().find(({ cli }) => cli === engine)?.toolNames[operation] ?? operation;
  }

  /** Tools of Squad for this caller, computed for each call, because a run that has ended has fewer tools. */
  function own(hasTeam: boolean): Operation[] {
    // A subagent has only the servers of its file, and no tools of Squad.
    if (parent?.isSubagent) return [];
    const subject = subjectOf({ services, caller });
    return OPERATIONS.filter((operation: Operation) => isOffered(operation, subject, { toolsets, hasTeam }));
  }

  async function templates(): Promise<Operation[]> {
    if (parent || !toolsets?.includes('templates')) return [];
    const found = await workspaces.templates(caller, 'tool');
    return found.filter(({ fault }) => fault === null).map(templateOperation);
  }

  /** A workspace that cannot be read still has tools: each call then reports the error. */
  async function surroundings(): Promise<{ mode: StateMode; has(cli: CliId): boolean; hasTeam: boolean }> {
    const [[config, hasTeam], env] = await Promise.all([
      workspaces.open(caller).then(
        async ({ config, team }) => [config, await team.hasFiles()] as const,
        () => [null, false] as const,
      ),
      workspaces.environment(caller).catch(() => caller.env),
    ]);
    return {
      hasTeam,
      mode: config?.stateMode.value ?? 'stateless',
      // The user may have defined an engine with the name of a CLI.
      has: cli => engines.isPresent(cli, env) || Object.hasOwn(config?.engines.value ?? {}, cli),
    };
  }
}
