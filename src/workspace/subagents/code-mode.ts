import { exposedName } from '../../core/gateway/tool-names.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { CodeMode } from '../../schema/model-spec.ts';
import type { SubagentDefaults } from '../../schema/subagent-file.ts';
import type { CodeModeSettings } from '../../schema/subagent-model.ts';
import type { ListedModel } from './chosen-model.ts';
import type { Findings } from './findings.ts';
import type { Path } from './yaml-source.ts';

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
