import { dirname, resolve } from 'node:path';
import type { Subagent } from '../schema/subagent.ts';
import { SubagentDefaults, SubagentFile } from '../schema/subagent-file.ts';
import { readAnswerSchema, readPrompt } from './subagent/attached-files.ts';
import { checkPart, warnOfKeys } from './subagent/check-part.ts';
import { chosenModel } from './subagent/chosen-model.ts';
import { codeModeOf } from './subagent/code-mode.ts';
import { durationMs } from './subagent/duration.ts';
import { fileValues } from './subagent/file-values.ts';
import { errorOf, Findings, type SubagentFinding } from './subagent/findings.ts';
import { identityOf } from './subagent/identity.ts';
import { listedModels, listedServers } from './subagent/lists.ts';
import { modelSpecOf } from './subagent/model.ts';
import { serversOf } from './subagent/servers.ts';
import { warnOfUnusedDefaults } from './subagent/unused-settings.ts';

const DEFAULT_TURNS = 50;

/** The subagent that a file defines, with everything the file refers to. Throws with all that is wrong. */
export async function readSubagent(file: string, env: Record<string, string>): Promise<Subagent> {
  const { subagent, findings } = await inspectSubagent(file, env);
  if (!subagent) throw errorOf(resolve(file), findings);
  return subagent;
}

/** With all that is wrong with the file, or has no effect in it, in its order. `subagent` is null when there is an error among that. */
export async function inspectSubagent(
  given: string,
  env: Record<string, string>,
): Promise<{ subagent: Subagent | null; findings: SubagentFinding[] }> {
  const file = resolve(given);
  const findings = new Findings();
  const values = await fileValues(file, findings);
  const subagent = values && (await subagentOf(values, file, env, findings));
  return { subagent: findings.hasErrors ? null : subagent, findings: findings.all };
}

async function subagentOf(
  values: Record<string, unknown>,
  file: string,
  env: Record<string, string>,
  findings: Findings,
): Promise<Subagent | null> {
  const known = Object.keys(SubagentFile.shape);
  const strange = Object.keys(values).filter(key => !known.includes(key));
  warnOfKeys({ path: [], keys: strange }, known, [], findings);
  const variables = { env, folder: dirname(file) };
  const identity = identityOf(values, findings);
  const defaults = checkPart(SubagentDefaults, values.defaults ?? {}, ['defaults'], findings);
  const { models, refs } = listedModels(values.models, findings);
  const servers = serversOf(listedServers(values.mcpServers, findings), variables, findings);
  const outputSchema = identity?.outputSchemaPath
    ? await readAnswerSchema(identity.outputSchemaPath, ['subagent', 'outputSchemaPath'], variables, findings)
    : null;
  if (!defaults) return null;

  warnOfUnusedDefaults(defaults, findings);
  const chosen = chosenModel(models, refs, defaults, findings);
  const model = chosen && modelSpecOf(chosen, defaults, variables, findings);
  const ofModel = chosen?.model.systemPromptPath;
  const promptPath = ofModel || defaults.systemPromptPath;
  const systemPrompt = promptPath
    ? await readPrompt(
        promptPath,
        [...(ofModel ? chosen.path : ['defaults']), 'systemPromptPath'],
        variables,
        findings,
      )
    : null;
  const codeMode = codeModeOf(chosen, defaults, servers, findings);
  const timeoutMs = timeoutOf(defaults, findings);
  if (!identity || !model) return null;
  const { name, description } = identity;
  return {
    ...{ file, name, description, outputSchema, model, systemPrompt, codeMode, servers, timeoutMs },
    maxTurns: defaults.maxTurns ?? DEFAULT_TURNS,
  };
}

function timeoutOf({ timeout }: SubagentDefaults, findings: Findings): number | null {
  if (timeout === undefined || timeout === '') return null;
  const ms = durationMs(timeout);
  if (ms === null)
    findings.error(['defaults', 'timeout'], `"${timeout}" is not a time`, {
      suggestion: 'Write 90s, 5m or 1h30m; 24 days at most.',
    });
  return ms;
}
