import { SubagentIdentity } from '../../schema/subagent-file.ts';
import { checkPart } from './check-part.ts';
import type { Findings } from './findings.ts';

/** What clients take as the name of a tool. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The tool that others see; null, and said, when it has no form. */
export function identityOf(values: Record<string, unknown>, findings: Findings) {
  if (values.subagent === undefined) {
    findings.error(['subagent'], 'no subagent is defined: there is no "subagent"', {
      suggestion: 'Add "subagent:" with "name" and "description": they are the tool that others see.',
    });
    return null;
  }
  const identity = checkPart(SubagentIdentity, values.subagent, ['subagent'], findings);
  if (!identity) return null;
  if (!TOOL_NAME.test(identity.name))
    findings.error(['subagent', 'name'], `${JSON.stringify(identity.name)} cannot be the name of a tool`, {
      suggestion: 'Use 1 to 64 letters, digits, _ and -.',
    });
  if (identity.description.trim() === '')
    findings.error(['subagent', 'description'], '"subagent.description" is empty', {
      suggestion: 'Say what the tool is for: whoever calls it knows nothing else of it.',
    });
  return identity;
}
