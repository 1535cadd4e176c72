import { z } from 'zod';
import { fillTemplate } from '../../core/roles/prompt.ts';
import { type AgentTemplate, enginesOf } from '../../schema/role.ts';
import { type Operation, operation } from '../operation.ts';
import { RunResult } from '../runs/run-result.ts';
import { SPAWN_TOOL, spawnOne } from '../runs/spawn.ts';

/** An agent template as an operation: takes its arguments, returns the result of one run. */
export function templateOperation(template: AgentTemplate): Operation {
  const { name, description, meta } = template;
  const fields = template.arguments.map(argument => {
    const text = z.string().describe(argument.description);
    return [argument.name, argument.required ? text : text.optional()] as const;
  });
  // If an argument has the same name as an option, it belongs to the template.
  const own = Object.fromEntries(fields);
  const takesAsync = !Object.hasOwn(own, 'async');
  return operation({
    name,
    route: null,
    agents: null,
    tool: { title: titleOf(name), description, toolset: 'templates', ...SPAWN_TOOL },
    input: z.strictObject({ ...own, ...(takesAsync && { async: z.boolean().optional() }) }),
    output: RunResult,
    run(call, { async: isAsync, ...given }) {
      const texts = { ...given, ...(!takesAsync && { async: isAsync }) };
      const values = Object.entries(texts).filter(([, value]) => typeof value === 'string');
      const waits = !takesAsync || isAsync !== true;
      return spawnOne(
        call,
        {
          form: 'spawn',
          task: fillTemplate(template, Object.fromEntries(values) as Record<string, string>),
          title: name,
          engine: enginesOf(meta)[0],
          model: meta.model,
          effort: meta.effort,
          tools: meta.tools,
          permission: meta.permission,
          sandbox: meta.sandbox,
          network: meta.network,
          timeoutMs: meta.timeout,
          stallMs: meta.stall,
          budgetUsd: meta.budget,
          outputSchema: meta.output_schema,
          context: meta.context,
          notify: !waits,
        },
        { async: !waits },
      );
    },
  }) as unknown as Operation;
}

const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
