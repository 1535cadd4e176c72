import { SubagentModel, SubagentServer } from '../../schema/subagent-file.ts';
import { checkPart } from './check-part.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';

/** The models that are sound, and what every one of them is called. */
export function listedModels(given: unknown, findings: Findings): { models: ListedModel[]; refs: string[] } {
  const list = given ?? [];
  if (!Array.isArray(list)) {
    findings.error(['models'], '"models" is wrong: it must be a list, each model after a "-"');
    return { models: [], refs: [] };
  }
  const refs: string[] = [];
  const models = list.flatMap((each: unknown, index): ListedModel[] => {
    const path = ['models', index];
    const ref = (each as { ref?: unknown } | null)?.ref;
    if (typeof ref === 'string') {
      if (refs.includes(ref)) findings.error([...path, 'ref'], `another model has the ref "${ref}" already`);
      refs.push(ref);
    }
    const model = checkPart(SubagentModel, each, path, findings);
    return model ? [{ model, path }] : [];
  });
  return { models, refs };
}

/** The servers that are sound, by their names in the file. */
export function listedServers(given: unknown, findings: Findings): Record<string, SubagentServer> {
  const record = given ?? {};
  if (typeof record !== 'object' || Array.isArray(record)) {
    findings.error(
      ['mcpServers'],
      '"mcpServers" is wrong: it must have a name for each server, and under it how to start it',
    );
    return {};
  }
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, each]) => {
      const server = checkPart(SubagentServer, each ?? {}, ['mcpServers', name], findings);
      return server ? [[name, server]] : [];
    }),
  );
}
