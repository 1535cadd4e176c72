import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { exposedName } from '../../core/gateway/tool-names.ts';
import { offThread } from '../../core/off-thread.ts';
import { schemaFault } from '../../core/output/structured-answer.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { CodeMode } from '../../schema/model-spec.ts';
import { JsonSchema } from '../../schema/run.ts';
import {
  type CodeModeSettings,
  type Subagent,
  SubagentDefaults,
  SubagentFile,
  SubagentIdentity,
} from '../../schema/subagent.ts';
import { jsonProblem, placeOf } from '../files/json-file.ts';
import { readTextFile } from '../files/text-file.ts';
import {
  checkPart,
  errorOf,
  Findings,
  type Path,
  placeText,
  readYaml,
  type SubagentFinding,
  warnOfKeys,
} from './findings.ts';
import { chosenModel, type ListedModel, modelSpecOf, warnOfUnusedDefaults } from './model.ts';
import { listedModels, listedServers, serversOf } from './servers.ts';
import { filled, type Variables, warnOfSecretsInFile } from './variables.ts';

/** What the model is told first; null, and said, when it cannot be read. */
export async function readPrompt(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
): Promise<string | null> {
  const found = await readAttached(given, path, variables, findings, 'CONFIG_INVALID');
  if (found === null) return null;
  const { file, text } = found;
  if (text.trim() === '') findings.warn(path, `the prompt ${file} is empty`);
  const at = text.indexOf('{{');
  if (at >= 0) {
    const { line } = placeOf(text, at);
    findings.warn(
      path,
      `the prompt ${file} has "{{" in line ${line}: templates are not evaluated, the model reads it as it is`,
      { suggestion: 'Write out what the template would say.' },
    );
  }
  return text;
}

/** The schema of what the tool returns; null, and said, when it is none. */
export async function readAnswerSchema(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
): Promise<JsonSchema | null> {
  const found = await readAttached(given, path, variables, findings, 'SCHEMA_INVALID');
  if (found === null) return null;
  const { file, text } = found;
  const refuse = (why: string, suggestion?: string) => {
    findings.error(path, `the output schema ${file} ${why}`, { code: 'SCHEMA_INVALID', suggestion });
    return null;
  };
  const problem = await offThread('json', jsonProblem, text.length, text);
  if (problem) {
    const { line, column } = placeOf(text, problem.offset);
    return refuse(`is not JSON: line ${line}, column ${column}: ${problem.message}`);
  }
  const schema = JsonSchema.safeParse(JSON.parse(text));
  if (!schema.success) return refuse('is not a JSON object');
  const unknown = new Set<string>();
  const fault = await schemaFault(schema.data, format => unknown.add(format));
  if (fault !== null)
    return refuse(
      `is not a JSON Schema: ${fault}`,
      schema.data.$schema === undefined
        ? 'It names no "$schema", so it is read as draft 2020-12; name the draft if it is of another.'
        : undefined,
    );
  for (const format of unknown)
    findings.warn(path, `the output schema ${file} has the format "${format}", which nobody checks`);
  // What a tool returns as structured content is always an object.
  if (schema.data.type !== 'object')
    return refuse(
      'is not the schema of an object',
      'Say "type": "object" at its root; a list goes into a property of it.',
    );
  return schema.data;
}

const MAX_SCHEMA_BYTES = 256 * 1024;

async function readAttached(
  given: string,
  path: Path,
  variables: Variables,
  findings: Findings,
  code: 'CONFIG_INVALID' | 'SCHEMA_INVALID',
): Promise<{ file: string; text: string } | null> {
  const name = filled(given, path, variables, findings);
  if (name === null) return null;
  const file = resolve(variables.folder, name);
  const read = await readTextFile(file, code === 'SCHEMA_INVALID' ? MAX_SCHEMA_BYTES : undefined);
  if ('text' in read) return { file, text: read.text };
  const why = 'missing' in read ? 'does not exist' : read.fault;
  findings.error(path, `${file} ${why}`, {
    code,
    suggestion: `Paths are relative to the folder of the file that names them, ${variables.folder}.`,
  });
  return null;
}

const DEFAULT_SECONDS = 300;
const MEMORY_MB = 512;
const DEFAULT_CHARS = 20_000;

/** What the model says stands in the place of what `defaults` says, as a whole. Null: it is off. */
export function codeModeOf(
  chosen: ListedModel | null,
  defaults: Partial<SubagentDefaults>,
  servers: McpConfig | null,
  findings: Findings,
): CodeMode | null {
  const [settings, path]: [CodeModeSettings | undefined, Path] = chosen?.model.codeMode
    ? [chosen.model.codeMode, [...chosen.path, 'codeMode']]
    : [defaults.codeMode, ['defaults', 'codeMode']];
  if (!settings?.enabled) return null;
  if (settings.localModulePaths?.length)
    findings.warn(
      [...path, 'localModulePaths'],
      '"localModulePaths" has no effect: a program has its tools and nothing else',
    );
  if (!servers)
    findings.warn(path, 'code mode is on, but there are no servers: programs will have no tools', {
      suggestion: 'Name servers under "mcpServers", or turn code mode off.',
    });
  return {
    timeoutMs: (settings.maxTimeout ?? DEFAULT_SECONDS) * 1000,
    memoryMb: MEMORY_MB,
    outputChars: settings.largeOutputCharLimit ?? DEFAULT_CHARS,
    excludedTools: (settings.excludedTools ?? []).flatMap(tool => exposedNames(tool, servers)),
  };
}

/** In the file tools go by their names at their servers, and nothing there says at which. */
const exposedNames = (tool: string, servers: McpConfig | null): string[] => [
  tool,
  ...Object.keys(servers?.servers ?? {}).map(server => exposedName(server, tool)),
];

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
/** Timers cannot be set further ahead. */
const MAX_MS = 2 ** 31 - 1;

/** `90s`, `5m`, `1h30m` in milliseconds; a bare number is seconds. Null: it is no time, or too long a one. */
export function durationMs(text: string | number): number | null {
  const whole = /^\d+(\.\d+)?$/.test(String(text)) ? `${text}s` : String(text);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(whole)) return null;
  const ms = [...whole.matchAll(/([\d.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as keyof typeof UNITS],
    0,
  );
  return ms >= 1 && ms <= MAX_MS ? Math.round(ms) : null;
}

/** What stands in the file, whose places the findings know from now on; null, and said, when nothing can be read from it. */
export async function fileValues(file: string, findings: Findings): Promise<Record<string, unknown> | null> {
  const refuse = (message: string, suggestion?: string) => {
    findings.error([], message, { suggestion });
    return null;
  };
  const read = await readTextFile(file);
  if ('missing' in read)
    return refuse('there is no such file', 'A new one is made by: squad init --subagent NAME');
  if ('fault' in read) return refuse(`this ${read.fault}`, 'Give the path of a YAML file.');
  const source = await readYaml(read.text);
  if ('faults' in source) {
    for (const { place, message } of source.faults) findings.add('error', [], message, {}, place);
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

/** `review.subagent.yaml`, or `review.cpe.yaml` as CPE calls them. */
const SUBAGENT_FILE = /^[^.].*\.(subagent|cpe)\.ya?ml$/;

const MAX_DEPTH = 6;
const MAX_FILES = 200;

/** Every subagent's file in a folder and below it, sorted; not in hidden folders, nor in what was installed there. */
export async function subagentFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  await look(folder, 0, found);
  return found.sort().slice(0, MAX_FILES);
}

async function look(folder: string, depth: number, found: string[]): Promise<void> {
  // A folder that cannot be read has none that could be used.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= MAX_FILES) return;
    const path = join(folder, entry.name);
    if (entry.isFile() && SUBAGENT_FILE.test(entry.name)) found.push(path);
    const isLookedInto = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
    if (isLookedInto && depth < MAX_DEPTH) await look(path, depth + 1, found);
  }
}
