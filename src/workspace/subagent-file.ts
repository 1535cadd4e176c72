import { dirname, resolve } from 'node:path';
import type { ConfigFinding, Subagent } from '../schema/subagent.ts';
import { SubagentDefaults, SubagentFile, SubagentIdentity } from '../schema/subagent-file.ts';
import { readAnswerSchema, readPrompt } from './subagent/attached-files.ts';
import { checkPart, warnOfKeys } from './subagent/check-part.ts';
import { codeModeOf } from './subagent/code-mode.ts';
import { durationMs } from './subagent/duration.ts';
import { errorOf, Findings, type SubagentFinding } from './subagent/findings.ts';
import { listedModels, listedServers } from './subagent/lists.ts';
import { chosenModel, modelSpecOf, NO_COMPACTION } from './subagent/model.ts';
import { serversOf } from './subagent/servers.ts';
import { readYaml } from './subagent/yaml-source.ts';
import { readTextFile } from './text-file.ts';

const DEFAULT_TURNS = 50;
/** What clients take as the name of a tool. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The subagent that a file defines, with everything the file refers to. Throws with all that is wrong. */
export async function readSubagent(file: string, env: Record<string, string>): Promise<Subagent> {
  const { subagent, findings } = await inspectSubagent(file, env);
  if (!subagent) throw errorOf(resolve(file), findings);
  return subagent;
}

/** All that is wrong with such a file, or has no effect in it, in its order. */
export async function lintSubagent(file: string, env: Record<string, string>): Promise<ConfigFinding[]> {
  return (await inspectSubagent(file, env)).findings;
}

/** Both at once. `subagent` is null when there is an error among the findings. */
export async function inspectSubagent(
  given: string,
  env: Record<string, string>,
): Promise<{ subagent: Subagent | null; findings: SubagentFinding[] }> {
  const file = resolve(given);
  const findings = new Findings();
  const values = await valuesOf(file, findings);
  const subagent = values && (await subagentOf(values, file, env, findings));
  return { subagent: findings.hasErrors ? null : subagent, findings: findings.all };
}

async function valuesOf(file: string, findings: Findings): Promise<Record<string, unknown> | null> {
  const refuse = (message: string, suggestion?: string) => {
    findings.error([], message, { suggestion });
    return null;
  };
  const read = await readTextFile(file);
  if ('missing' in read)
    return refuse('there is no such file', 'A new one is made by: squad init --subagent NAME');
  if ('fault' in read) return refuse(`this ${read.fault}`, 'Give the path of a YAML file.');
  const source = readYaml(read.text);
  if ('faults' in source) {
    for (const { place, message } of source.faults)
      findings.add('error', [], `this is not YAML: ${message}`, {}, place);
    return null;
  }
  findings.place = source.place;
  for (const { place, message } of source.warnings) findings.add('warning', [], message, {}, place);
  const { value } = source;
  if (value === undefined || value === null)
    return refuse('the file is empty', 'A new one is made by: squad init --subagent NAME');
  if (typeof value !== 'object' || Array.isArray(value))
    return refuse('the file is not a list of "key: value" lines');
  return value as Record<string, unknown>;
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

  warnOfUnused(defaults, findings);
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

function identityOf(values: Record<string, unknown>, findings: Findings) {
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

function timeoutOf({ timeout }: SubagentDefaults, findings: Findings): number | null {
  if (timeout === undefined || timeout === '') return null;
  const ms = durationMs(timeout);
  if (ms === null)
    findings.error(['defaults', 'timeout'], `"${timeout}" is not a time`, {
      suggestion: 'Write 90s, 5m or 1h30m; 24 days at most.',
    });
  return ms;
}

function warnOfUnused({ noStream, compaction }: SubagentDefaults, findings: Findings): void {
  if (noStream)
    findings.warn(['defaults', 'noStream'], '"noStream" has no effect: answers are always streamed');
  if (compaction) findings.warn(['defaults', 'compaction'], NO_COMPACTION);
}
