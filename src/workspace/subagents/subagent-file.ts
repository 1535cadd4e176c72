import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { exposedName } from '../../core/gateway/tool-names.ts';
import { offThread } from '../../core/off-thread.ts';
import { schemaFault } from '../../core/output/structured-answer.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { CodeMode } from '../../schema/model-spec.ts';
import { JsonSchema } from '../../schema/run.ts';
import type { Subagent, SubagentDefaults } from '../../schema/subagent.ts';
import { jsonProblem, placeOf } from '../files/json-file.ts';
import { readTextFile } from '../files/text-file.ts';
import { checkValues, parseSubagentFile } from './file-values.ts';
import {
  errorOf,
  type FileContext,
  Findings,
  fillVariables,
  type Path,
  placeText,
  type SubagentFinding,
  warnOfSecrets,
} from './findings.ts';
import { chosenModel, type ListedModel, modelSpecOf, warnOfUnusedDefaults } from './model.ts';
import { serversOf } from './servers.ts';

const DEFAULT_TURNS = 50;

/**
 * Reads the subagent that a file defines, with every file that it refers to. Throws a single error with all problems.
 */
export async function readSubagent(
  file: string,
  env: Record<string, string>,
  warn: (text: string) => void = () => {},
): Promise<Subagent> {
  const findings = new Findings();
  const subagent = await readWith(resolve(file), env, findings);
  for (const { message, suggestion, ...place } of findings.all)
    warn([`${placeText(resolve(file), place)}: ${message}`, ...(suggestion ? [suggestion] : [])].join('. '));
  return subagent;
}

/** Like `readSubagent`, but works even if this machine lacks a key or a variable. */
export const readSubagentToInspect = (file: string, env: Record<string, string>): Promise<Subagent> =>
  readWith(resolve(file), env, new Findings({ isLint: true }));

/**
 * All errors and warnings of a file, in its order. Missing keys and variables are only warnings, because files are
 * also checked on machines that do not have them. `isFound` means that a search found the file. CPE gives its other
 * configurations similar names, so a found file without a subagent is no error.
 */
export async function lintSubagent(
  file: string,
  env: Record<string, string>,
  { isFound = false } = {},
): Promise<SubagentFinding[]> {
  const findings = new Findings({ isLint: true });
  const values = await readValues(resolve(file), findings);
  if (values && isFound && values.subagent === undefined && /\.cpe\.ya?ml$/.test(file))
    findings.warn([], 'defines no subagent, so it was not checked');
  else if (values) await subagentOf(values, resolve(file), env, findings);
  return findings.all;
}

async function readWith(file: string, env: Record<string, string>, findings: Findings): Promise<Subagent> {
  const values = await readValues(file, findings);
  const subagent = values && (await subagentOf(values, file, env, findings));
  if (!subagent || findings.hasErrors) throw errorOf(file, findings.all);
  return subagent;
}

async function readValues(file: string, findings: Findings): Promise<Record<string, unknown> | null> {
  const read = await readTextFile(file);
  if ('text' in read) return parseSubagentFile(read.text, findings);
  if ('missing' in read)
    findings.error([], 'there is no such file', {
      suggestion: 'Create one with: squad init --subagent NAME',
    });
  else findings.error([], `the file ${read.fault}`, { suggestion: 'Give the path of a YAML file.' });
  return null;
}

async function subagentOf(
  values: Record<string, unknown>,
  file: string,
  env: Record<string, string>,
  findings: Findings,
): Promise<Subagent | null> {
  const context = { env, folder: dirname(file), findings };
  if (values.subagent === undefined)
    findings.error(['subagent'], 'no subagent is defined: there is no "subagent"', {
      suggestion: 'Add "subagent:" with "name" and "description": they are the tool that others see.',
    });
  const { subagent: identity = {}, defaults, models, mcpServers } = checkValues(values, findings);
  const listed = models.map((model, index): ListedModel => ({ model, path: ['models', index] }));
  const refs = new Set<string | undefined>();
  for (const { model, path } of listed) {
    if (model.ref !== undefined && refs.has(model.ref))
      findings.error([...path, 'ref'], `another model already has the ref "${model.ref}"`);
    refs.add(model.ref);
    warnOfSecrets(model, path, findings);
  }
  const servers = serversOf(mcpServers, context);
  const outputSchema = identity.outputSchemaPath
    ? await readOutputSchema(identity.outputSchemaPath, ['subagent', 'outputSchemaPath'], context)
    : null;

  warnOfUnusedDefaults(defaults, findings);
  const isChoiceWrong = findings.isWrong('defaults') || findings.isWrong('defaults', 'model');
  const chosen = isChoiceWrong ? null : chosenModel(listed, defaults.model, findings);
  const model = chosen && modelSpecOf(chosen, defaults, context);
  const systemPrompt = await promptOf(chosen, defaults, context);
  const codeMode = codeModeOf(chosen, defaults, servers, findings);
  const timeoutMs = timeoutOf(defaults, findings);
  const { name, description } = identity;
  if (name === undefined || description === undefined || !model) return null;
  return {
    ...{ file, name, description, outputSchema, model, systemPrompt, codeMode, servers, timeoutMs },
    maxTurns: defaults.maxTurns ?? DEFAULT_TURNS,
  };
}

/** Prompt of the model, or else of `defaults`. */
async function promptOf(
  chosen: ListedModel | null,
  defaults: SubagentDefaults,
  context: FileContext,
): Promise<string | null> {
  const own = chosen?.model.systemPromptPath;
  const given = own || defaults.systemPromptPath;
  if (!given) return null;
  const path = [...(own ? chosen!.path : ['defaults']), 'systemPromptPath'];
  const found = await readAttached(given, path, context, 'CONFIG_INVALID');
  if (found === null) return null;
  const { file, text } = found;
  if (text.trim() === '') context.findings.warn(path, `the prompt ${file} is empty`);
  const at = text.indexOf('{{');
  if (at >= 0)
    context.findings.warn(
      path,
      `the prompt ${file} has "{{" in line ${placeOf(text, at).line}: templates are not evaluated, the model reads it as it is`,
      { suggestion: 'Replace the template with the text that it would produce.' },
    );
  return text;
}

async function readOutputSchema(given: string, path: Path, context: FileContext): Promise<JsonSchema | null> {
  const { findings } = context;
  const found = await readAttached(given, path, context, 'SCHEMA_INVALID');
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
        ? 'It has no "$schema", so it is read as draft 2020-12. Set "$schema" if it follows another draft.'
        : undefined,
    );
  for (const format of unknown)
    findings.warn(path, `the output schema ${file} has the format "${format}", which is not checked`);
  // The schema must describe an object, because the structured content of an MCP tool is one.
  if (schema.data.type !== 'object')
    return refuse(
      'is not the schema of an object',
      'Write "type": "object" at its root; a list goes into a property of it.',
    );
  return schema.data;
}

const MAX_SCHEMA_BYTES = 256 * 1024;

async function readAttached(
  given: string,
  path: Path,
  context: FileContext,
  code: 'CONFIG_INVALID' | 'SCHEMA_INVALID',
): Promise<{ file: string; text: string } | null> {
  const name = fillVariables(given, path, context);
  if (name === null) return null;
  const file = resolve(context.folder, name);
  const read = await readTextFile(file, code === 'SCHEMA_INVALID' ? MAX_SCHEMA_BYTES : undefined);
  if ('text' in read) return { file, text: read.text };
  context.findings.error(path, `${file} ${'missing' in read ? 'does not exist' : read.fault}`, {
    code,
    suggestion: `Paths are relative to the folder of the file that names them, ${context.folder}.`,
  });
  return null;
}

const DEFAULT_PROGRAM_SECONDS = 300;
const PROGRAM_MEMORY_MB = 512;
const DEFAULT_OUTPUT_CHARS = 20_000;

/** The model's setting replaces that of `defaults` as a whole. Null if code mode is off. */
function codeModeOf(
  chosen: ListedModel | null,
  defaults: SubagentDefaults,
  servers: McpConfig | null,
  findings: Findings,
): CodeMode | null {
  const own = chosen?.model.codeMode;
  const settings = own ?? defaults.codeMode;
  if (!settings?.enabled) return null;
  const path = [...(own ? chosen!.path : ['defaults']), 'codeMode'];
  if (settings.localModulePaths?.length)
    findings.warn(
      [...path, 'localModulePaths'],
      '"localModulePaths" has no effect: a program has its tools and nothing else',
    );
  if (!servers)
    findings.warn(path, 'code mode is on, but there are no servers: programs will have no tools', {
      suggestion: 'Name servers under "mcpServers", or turn code mode off.',
    });
  // The names under which agents know a tool of the file. The file gives only the server's own name of the tool, so
  // every server is tried.
  const exposedNames = (tool: string) => [
    tool,
    ...Object.keys(servers?.servers ?? {}).map(server => exposedName(server, tool)),
  ];
  return {
    timeoutMs: (settings.maxTimeout ?? DEFAULT_PROGRAM_SECONDS) * 1000,
    memoryMb: PROGRAM_MEMORY_MB,
    outputChars: settings.largeOutputCharLimit ?? DEFAULT_OUTPUT_CHARS,
    excludedTools: (settings.excludedTools ?? []).flatMap(exposedNames),
  };
}

function timeoutOf({ timeout }: SubagentDefaults, findings: Findings): number | null {
  if (timeout === undefined || timeout === '') return null;
  const ms = durationMs(timeout);
  if (ms === null)
    findings.error(['defaults', 'timeout'], '"defaults.timeout" must be a time of at most 24 days', {
      suggestion: 'Write 90s, 5m or 1h30m.',
    });
  return ms;
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
/** Longest delay of a Node timer. */
const MAX_DURATION_MS = 2 ** 31 - 1;

/**
 * Parses `90s`, `5m`, `1h30m` to milliseconds. A bare number means seconds. Null if it is not a duration, or too
 * long.
 */
export function durationMs(text: string | number): number | null {
  const whole = /^\d+(\.\d+)?$/.test(String(text)) ? `${text}s` : String(text);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(whole)) return null;
  const ms = [...whole.matchAll(/([\d.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit as keyof typeof UNITS],
    0,
  );
  return ms >= 1 && ms <= MAX_DURATION_MS ? Math.round(ms) : null;
}

/** File names such as `review.subagent.yaml`, or `review.cpe.yaml` as CPE names them. */
const SUBAGENT_FILE = /^[^.].*\.(subagent|cpe)\.ya?ml$/;

const MAX_DEPTH = 6;
const MAX_FILES = 200;

/** All subagent files in a folder and below it, sorted. Skips hidden folders and node_modules. */
export async function subagentFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  await collect(folder, 0, found);
  return found.sort().slice(0, MAX_FILES);
}

async function collect(folder: string, depth: number, found: string[]): Promise<void> {
  // An unreadable folder has no usable file.
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= MAX_FILES) return;
    const path = join(folder, entry.name);
    if (entry.isFile() && SUBAGENT_FILE.test(entry.name)) found.push(path);
    const isSearched = entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules';
    if (isSearched && depth < MAX_DEPTH) await collect(path, depth + 1, found);
  }
}
