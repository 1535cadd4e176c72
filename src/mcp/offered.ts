import { allowed, type Subject } from '../core/policy.ts';
import type { Operation } from '../operations/operation.ts';
import { DEFAULT_TOOLSETS, type Toolset } from '../schema/toolset.ts';

/** Whether somebody is shown this tool, and finds it when calling: an agent what policy grants it, the user what their toolsets hold. */
export function isOffered(
  { name, tool }: Operation,
  subject: Subject,
  toolsets: readonly Toolset[] = DEFAULT_TOOLSETS,
): boolean {
  if (!tool) return false;
  if (subject.kind === 'run') return allowed(subject, name);
  return tool.forAgents !== true && toolsets.includes(tool.toolset ?? 'core');
}
