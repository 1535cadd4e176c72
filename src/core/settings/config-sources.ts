import { resolve } from 'node:path';
import type { UserFile, WorkspaceFile } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';

/** Everything that was found, before precedence is decided. */
export interface ConfigSources {
  workspace: string;
  env: Readonly<Record<string, string | undefined>>;
  workspaceFile: (SettingsFile<WorkspaceFile> & Trustable) | null;
  /** True: the workspace file's agentsDir leads out of the workspace, also by a link. */
  agentsDirLeadsOut: boolean;
  /** `templates/run-agent.template` and `templates/create-chat.template`. */
  workspaceTemplates: Record<TemplateKey, TemplateFile | null>;
  userFile: SettingsFile<UserFile> | null;
  /** The `.template` files that settings name, by absolute path; missing files are absent. */
  namedTemplates: ReadonlyMap<string, TemplateFile>;
}

export type TemplateKey = 'runTemplate' | 'createChatTemplate';

export interface SettingsFile<T> {
  file: string;
  /** Base of relative paths in it. */
  base: string;
  text: string;
  settings: T;
}

/** Content that may have come with a workspace. True: the user has trusted it as it is now. */
interface Trustable {
  trusted: boolean;
}

export interface TemplateFile extends Trustable {
  file: string;
  text: string;
  /** Why it cannot be read, which matters only if the template is used. */
  fault: string | null;
}

/** A template setting is its text, or the path of a file that ends in `.template`. */
export function templatePath(setting: string, base: string): string | null {
  const path = setting.trim();
  return path.endsWith('.template') && !path.includes('\n') ? resolve(base, path) : null;
}

/** Files of a workspace that have no effect until trusted. `squad trust` shows and records them. */
export function trustableFiles(sources: ConfigSources): { file: string; text: string; trusted: boolean }[] {
  const { workspace, workspaceFile, agentsDirLeadsOut, workspaceTemplates, namedTemplates } = sources;
  const settings = workspaceFile?.settings;
  const templates = [settings?.runTemplate, settings?.createChatTemplate].filter(
    setting => setting !== undefined,
  );
  const grants =
    [
      settings?.engine,
      settings?.engines,
      settings?.onEnd,
      settings?.onAsk,
      settings?.worktree,
      settings?.check,
    ].some(value => value !== undefined) ||
    templates.length > 0 ||
    agentsDirLeadsOut;
  const files = [
    ...(workspaceFile && grants ? [workspaceFile] : []),
    ...templates.map(setting => namedTemplates.get(templatePath(setting, workspace) ?? '')),
    ...Object.values(workspaceTemplates),
  ].filter(file => file !== undefined && file !== null);
  const readable = files.filter(file => !('fault' in file) || file.fault === null);
  return [...new Map(readable.map(({ file, text, trusted }) => [file, { file, text, trusted }])).values()];
}

/** `file` names the engine or its command. */
export const engineNotTrusted = (file: string): SquadError =>
  new SquadError(
    'ENGINE_NOT_TRUSTED',
    `The engine is set in ${file}, which came with the workspace and is not trusted yet`,
    {
      suggestions: [
        'Read the file, then run `squad trust`.',
        'Or name the engine of this run: `engine` in the call, or `--engine claude` in a terminal.',
      ],
    },
  );
