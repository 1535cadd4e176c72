import { SubagentModel } from '../../schema/subagent-model.ts';
import { SUBAGENT_MODEL_TYPES } from '../../schema/subagent-names.ts';
import { SubagentServer } from '../../schema/subagent-server.ts';
import { type CheckedPart, checkPart } from './check-part.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

/** Every model that is one, as far as it has its form, and what each of them is called. */
export function listedModels(given: unknown, findings: Findings): { models: ListedModel[]; refs: string[] } {
  const list = given ?? [];
  if (!Array.isArray(list)) {
    findings.error(['models'], '"models" must be a list, each model after a "-"');
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
    const checked = checkPart(SubagentModel, inSmallLetters(each, path, findings), path, findings);
    return checked ? [{ model: checked.part, path }] : [];
  });
  return { models, refs };
}

/** `type: OpenAI` is understood, and editors would not take it. */
function inSmallLetters(model: unknown, path: Path, findings: Findings): unknown {
  const type = (model as { type?: unknown } | null)?.type;
  if (typeof type !== 'string') return model;
  const small = type.toLowerCase();
  if (small === type || !(SUBAGENT_MODEL_TYPES as readonly string[]).includes(small)) return model;
  findings.warn([...path, 'type'], `"${type}" is taken for "${small}"`, { suggestion: `Write ${small}.` });
  return { ...(model as object), type: small };
}

export type ListedServer = CheckedPart<SubagentServer>;

/** Every server that is one, as far as it has its form, by its name in the file. */
export function listedServers(given: unknown, findings: Findings): Map<string, ListedServer> {
  const record = given ?? {};
  if (typeof record !== 'object' || Array.isArray(record)) {
    findings.error(
      ['mcpServers'],
      '"mcpServers" must have a name for each server, and under it how to start it',
    );
    return new Map();
  }
  return new Map(
    Object.entries(record).flatMap(([name, each]): [string, ListedServer][] => {
      const path = ['mcpServers', name];
      if (name === '' || name === '__proto__') {
        findings.error(path, `${JSON.stringify(name)} cannot be the name of a server`, {
          suggestion: 'Take another: its tools are named after it.',
        });
        return [];
      }
      const checked = checkPart(SubagentServer, each ?? {}, path, findings);
      return checked ? [[name, checked]] : [];
    }),
  );
}
