import { SubagentIdentity } from '../../schema/subagent-file.ts';
import { checkPart } from './check-part.ts';
import type { Findings } from './findings.ts';

/** The tool that others see, as far as it has its form. */
export function identityOf(
  values: Record<string, unknown>,
  findings: Findings,
): Partial<SubagentIdentity> | null {
  if (values.subagent === undefined) {
    findings.error(['subagent'], 'no subagent is defined: there is no "subagent"', {
      suggestion: 'Add "subagent:" with "name" and "description": they are the tool that others see.',
    });
    return null;
  }
  return checkPart(SubagentIdentity, values.subagent, ['subagent'], findings)?.part ?? null;
}
