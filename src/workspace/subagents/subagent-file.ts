import { dirname, resolve } from 'node:path';
import type { Subagent } from '../../schema/subagent.ts';
import { SubagentDefaults, SubagentFile } from '../../schema/subagent-file.ts';
import { readAnswerSchema, readPrompt } from './attached-files.ts';
import { checkPart, warnOfKeys } from './check-part.ts';
import { chosenModel } from './chosen-model.ts';
import { codeModeOf } from './code-mode.ts';
import { durationMs } from './duration.ts';
import { fileValues } from './file-values.ts';
import { errorOf, Findings, placeText, type SubagentFinding } from './findings.ts';
import { identityOf } from './identity.ts';
import { listedModels, listedServers } from './lists.ts';
import { modelSpecOf } from './model.ts';
import { warnOfSecretsInFile } from './secrets-in-file.ts';
import { serversOf } from './servers.ts';
import { warnOfUnusedDefaults } from './unused-settings.ts';

const DEFAULT_TURNS = 50;

/**
 * The subagent that a file defines, with everything the file refers to. Throws with all that is wrong; what has no effect,
 * or not the one that was meant, is only told.
 */
export async function readSubagent(
  file: string,
  env: Record<string, string>,
  warn: (text: string) => void = () => {},
): Promise<Subagent> {
  const findings = new Findings();
  const subagent = await inspect(resolve(file), env, findings);
  if (!subagent) throw errorOf(resolve(file), findings.all);
  for (const { message, suggestion, ...place } of findings.all)
    warn([`${placeText(resolve(file), place)}: ${message}`, ...(suggestion ? [suggestion] : [])].join('. '));
  return subagent;
}

/**
 * All that is wrong with the file or has no effect in it, in its order. What the machine lacks, keys above all, is a warning: files
 * are also checked where nobody has them. `isFound`: nobody named the file. CPE gives its other configurations the same kind of
 * name, so one without a subagent is no mistake then.
 */
export async function lintSubagent(
  file: string,
  env: Record<string, string>,
  { isFound = false } = {},
): Promise<SubagentFinding[]> {
  const findings = new Findings({ isLint: true });
  const values = await fileValues(resolve(file), findings);
  if (values && isFound && values.subagent === undefined && /\.cpe\.ya?ml$/.test(file))
    findings.warn([], 'defines no subagent, so it was not checked');
  else if (values) await subagentOf(values, resolve(file), env, findings);
  return findings.all;
}

/** The subagent as far as the file defines it, also where the machine lacks a key or variable. Throws with all that is wrong. */
export async function readSubagentToInspect(file: string, env: Record<string, string>): Promise<Subagent> {
  const findings = new Findings({ isLint: true });
  const subagent = await inspect(resolve(file), env, findings);
  if (!subagent) throw errorOf(resolve(file), findings.all);
  return subagent;
}

async function inspect(
  file: string,
  env: Record<string, string>,
  findings: Findings,
): Promise<Subagent | null> {
  const values = await fileValues(file, findings);
  const subagent = values && (await subagentOf(values, file, env, findings));
  return findings.hasErrors ? null : subagent;
}

async function subagentOf(
  values: Record<string, unknown>,
  file: string,
  env: Record<string, string>,
  findings: Findings,
): Promise<Subagent | null> {
  const variables = { env, folder: dirname(file) };
  checkTop(values, findings);
  const identity = identityOf(values, findings);
  const checked = checkPart(SubagentDefaults, values.defaults ?? {}, ['defaults'], findings);
  const defaults = checked?.part ?? {};
  const { models, refs } = listedModels(values.models, findings);
  for (const listed of models) warnOfSecretsInFile(listed, findings);
  const servers = serversOf(listedServers(values.mcpServers, findings), variables, findings);
  const outputSchema = identity?.outputSchemaPath
    ? await readAnswerSchema(identity.outputSchemaPath, ['subagent', 'outputSchemaPath'], variables, findings)
    : null;

  warnOfUnusedDefaults(defaults, findings);
  const isModelKnown = checked !== null && !checked.wrong.has('model');
  const chosen = isModelKnown ? chosenModel(models, refs, defaults.model, findings) : null;
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
  const { name, description } = identity ?? {};
  if (name === undefined || description === undefined || !model) return null;
  return {
    ...{ file, name, description, outputSchema, model, systemPrompt, codeMode, servers, timeoutMs },
    maxTurns: defaults.maxTurns ?? DEFAULT_TURNS,
  };
}

/** Its keys, and the version; what is under the others is looked at one by one. */
function checkTop(values: Record<string, unknown>, findings: Findings): void {
  const known = Object.keys(SubagentFile.shape);
  const strange = Object.keys(values).filter(key => !known.includes(key));
  warnOfKeys({ path: [], keys: strange }, known, [], findings);
  checkPart(SubagentFile.pick({ version: true }), { version: values.version }, [], findings);
}

function timeoutOf({ timeout }: Partial<SubagentDefaults>, findings: Findings): number | null {
  if (timeout === undefined || timeout === '') return null;
  const ms = durationMs(timeout);
  if (ms === null)
    findings.error(['defaults', 'timeout'], '"defaults.timeout" must be a time of at most 24 days', {
      suggestion: 'Write 90s, 5m or 1h30m.',
    });
  return ms;
}
