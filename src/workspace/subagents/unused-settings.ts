import type { SubagentDefaults } from '../../schema/subagent-file.ts';
import type { SubagentModel } from '../../schema/subagent-model.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

/** What other programs that read such files do with a model, and Squad does not. */
export function warnOfUnusedModelSettings(
  model: Partial<SubagentModel>,
  path: Path,
  findings: Findings,
): void {
  if (model.patchRequest?.jsonPatch)
    findings.warn(
      [...path, 'patchRequest', 'jsonPatch'],
      '"jsonPatch" has no effect: requests to the model go out unchanged',
    );
  if (model.mcpServers)
    findings.warn([...path, 'mcpServers'], '"mcpServers" of a model have no effect', {
      suggestion: 'Put them at the top of the file.',
    });
  if (model.timeout)
    findings.warn([...path, 'timeout'], '"timeout" of a model has no effect', {
      suggestion: 'Put it under "defaults".',
    });
  if (model.compaction) findings.warn([...path, 'compaction'], NO_COMPACTION);
}

/** The same for all models. */
export function warnOfUnusedDefaults(
  { noStream, compaction }: Partial<SubagentDefaults>,
  findings: Findings,
): void {
  if (noStream)
    findings.warn(['defaults', 'noStream'], '"noStream" has no effect: answers are always streamed');
  if (compaction) findings.warn(['defaults', 'compaction'], NO_COMPACTION);
}

const NO_COMPACTION =
  '"compaction" has no effect: a conversation is never shortened; one that outgrows the model fails';
