import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { offThread } from '../../core/off-thread.ts';
import { placeholders } from '../../core/roles/prompt.ts';
import {
  type AgentTemplate,
  AgentTemplateMeta,
  PROMPT_NAME,
  PromptMeta,
  TEMPLATE_NAME,
  type TemplateArgument,
} from '../../schema/role.ts';
import { resolveInside } from '../files/paths.ts';
import { readTextFile } from '../files/text-file.ts';
import { userFilePath } from '../settings/config-files.ts';
import { type Frontmatter, type HeadShape, headLength, ROLE_KEYS, readHeaded } from './frontmatter.ts';
import type { Trust } from './roles.ts';

interface TemplatesFolder {
  directory: string;
  from: AgentTemplate['from'];
}

interface TemplatesRequest {
  kind: 'tool' | 'prompt';
  /** Folders in order of precedence. */
  folders: readonly TemplatesFolder[];
  /** Names of Squad's own tools, which templates cannot use. */
  reserved: ReadonlySet<string>;
  isTrusted: Trust;
}

/**
 * All templates, sorted by name. A template that cannot be used has a fault. A template of a workspace becomes a tool
 * only when its file is trusted, because the client's model would read its description.
 */
export async function readAgentTemplates(wanted: TemplatesRequest): Promise<AgentTemplate[]> {
  const templates: AgentTemplate[] = [];
  const taken = new Map<string, AgentTemplate>();
  for (const folder of wanted.folders)
    for (const file of await filesIn(folder.directory)) {
      const template = await readTemplate(folder, file, wanted);
      const first = template.fault === null ? taken.get(template.name) : undefined;
      if (first && first.from !== template.from) continue;
      if (first) template.fault = `has the same name as ${first.file}`;
      if (template.fault === null) taken.set(template.name, template);
      templates.push(template);
    }
  return templates.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

async function filesIn(directory: string): Promise<string[]> {
  // Most workspaces and users have no templates folder.
  const names = await readdir(directory).catch(() => []);
  return names.filter(name => name.endsWith('.md') && !name.startsWith('.')).sort();
}

async function readTemplate(
  { directory, from }: TemplatesFolder,
  fileName: string,
  { kind, reserved, isTrusted }: TemplatesRequest,
): Promise<AgentTemplate> {
  const file = join(directory, fileName);
  const stem = fileName.slice(0, -'.md'.length);
  const broken = (fault: string, needsTrust = false): AgentTemplate => ({
    ...{ name: stem, description: '', arguments: [], body: '', meta: {} },
    ...{ file, from, fault, needsTrust, warnings: [] },
  });
  const place = await resolveInside(directory, file);
  if ('outside' in place) return broken('is a symbolic link out of its folder');
  const read = 'fault' in place ? place : await readTextFile(file);
  if ('missing' in read) return broken('is a symbolic link that leads nowhere');
  if ('fault' in read) return broken(read.fault);
  const head = await offThread('template', readTemplateText, headLength(read.text), read.text, kind);
  if ('fault' in head) return broken(head.fault);

  const { name = stem, description, arguments: given = {}, ...meta } = head.meta;
  const args = argumentsOf(given);
  const fault = nameFault(name, kind, reserved) ?? bodyFault(head.body, args);
  if (fault !== null) return broken(fault);
  if (from === 'workspace' && !(await isTrusted(file, read.text)))
    return broken('has no effect until you trust the file: `squad trust`', true);
  const used = placeholders(head.body);
  const unused = args.filter(argument => !used.includes(argument.name));
  return {
    ...{
      name,
      description,
      arguments: args,
      body: head.body,
      meta,
      file,
      from,
      fault: null,
      needsTrust: false,
    },
    warnings: [
      ...head.warnings,
      ...unused.map(argument => `the argument "${argument.name}" is used nowhere`),
    ],
  };
}

export const readTemplateText = (
  source: string,
  kind: TemplatesRequest['kind'],
): Frontmatter<AgentTemplateMeta> => readHeaded<AgentTemplateMeta>(source, kind === 'tool' ? TOOL : PROMPT);

function nameFault(
  name: string,
  kind: TemplatesRequest['kind'],
  reserved: ReadonlySet<string>,
): string | null {
  if (!(kind === 'tool' ? TEMPLATE_NAME : PROMPT_NAME).test(name))
    return `its name ${JSON.stringify(name)} must be a lowercase letter and then lowercase letters, digits or "_"${kind === 'tool' ? '' : ' or "-"'}, 41 at most`;
  return reserved.has(name) ? `its name "${name}" is the name of a ${kind} of Squad` : null;
}

function bodyFault(body: string, args: readonly TemplateArgument[]): string | null {
  if (body === '') return 'it has no body';
  const unknown = placeholders(body).find(name => !args.some(argument => argument.name === name));
  return unknown === undefined ? null : `"{{${unknown}}}" names no argument`;
}

function argumentsOf(given: NonNullable<AgentTemplateMeta['arguments']>): TemplateArgument[] {
  return Object.entries(given).map(([name, { description, required = false, default: value = '' }]) => ({
    ...{ name, description, required, default: value },
  }));
}

const ALLOWED = {
  ...ROLE_KEYS,
  description: 'must say in a sentence what it does',
  arguments:
    'must be names (lowercase letters, digits, "_"), each with a description, and "required: true" or a "default"',
};
const TOOL: HeadShape<AgentTemplateMeta> = { schema: AgentTemplateMeta, allowed: ALLOWED };
const PROMPT: HeadShape<PromptMeta> = { schema: PromptMeta, allowed: ALLOWED };

interface TemplatePlaces {
  /** Null when the caller has no workspace. */
  workspace: string | null;
  env: Record<string, string>;
  /** Folder of the templates that come with Squad. */
  shipped: string;
}

/** Template folders in order of precedence. */
export function templateFolders(
  kind: 'tool' | 'prompt',
  { workspace, env, shipped }: TemplatePlaces,
): TemplatesFolder[] {
  const name = kind === 'tool' ? 'templates' : 'prompts';
  const user = userFilePath(env);
  return [
    ...(workspace === null
      ? []
      : [{ directory: join(workspace, '.squad', name), from: 'workspace' as const }]),
    ...(user === null ? [] : [{ directory: join(dirname(user), name), from: 'user' as const }]),
    { directory: join(shipped, kind === 'tool' ? 'agents' : 'prompts'), from: 'shipped' },
  ];
}
