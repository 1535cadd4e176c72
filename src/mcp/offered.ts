import { allowed, type Subject } from '../core/policy.ts';
import type { Operation } from '../operations/operation.ts';
import type { Toolset } from '../schema/toolset.ts';

export interface Wanted {
  /** Null: the client named none and gets the default tools. */
  toolsets: readonly Toolset[] | null;
  /** Whether the client's workspace has team files. */
  hasTeam: boolean;
}

/** Whether a caller is shown this tool and can call it: an agent by policy, a client of the user by its toolsets. */
export function isOffered(operation: Operation, subject: Subject, { toolsets, hasTeam }: Wanted): boolean {
  const { tool } = operation;
  if (!tool) return false;
  if (subject.kind === 'run') return allowed(subject, operation);
  if (tool.forAgents === true) return false;
  const toolset = tool.toolset ?? 'core';
  if (toolsets !== null) return toolsets.includes(toolset);
  return toolset === 'core' || (hasTeam && tool.isDefaultWithTeam === true);
}
