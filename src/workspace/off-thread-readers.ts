import { buildContext } from '../core/context.ts';
import { checkSchema, checkValue } from '../core/schema-check.ts';
import { readBacklog } from '../core/team/backlog.ts';
import { readDecisions } from '../core/team/decisions.ts';
import { editBacklog } from '../core/team/edit-backlog.ts';
import { readHistory } from '../core/team/history.ts';
import { readRoster } from '../core/team/roster.ts';
import { readTemplateText } from './agent-templates.ts';
import { readFrontmatter } from './frontmatter.ts';
import { jsonProblem } from './json-tree.ts';
import { checkMcpConfig } from './mcp-config-file.ts';
import { addedLines } from './new-file-diff.ts';
import { parseYamlFile } from './subagent/yaml-source.ts';

/** Everything that `offThread` can do in its thread, by the name it is called with. */
export const OFF_THREAD_READERS = {
  backlog: readBacklog,
  context: buildContext,
  decisions: readDecisions,
  'edited backlog': editBacklog,
  history: readHistory,
  json: jsonProblem,
  'mcp-config': checkMcpConfig,
  'new file': addedLines,
  role: readFrontmatter,
  roster: readRoster,
  schema: checkSchema,
  template: readTemplateText,
  'value by schema': checkValue,
  yaml: parseYamlFile,
};
