import { checkSchema, checkValue } from '../../core/output/structured-answer.ts';
import { buildContext } from '../../core/roles/context.ts';
import { readBacklog } from '../../core/team/backlog.ts';
import { readDecisions } from '../../core/team/decisions.ts';
import { editBacklog } from '../../core/team/edit-backlog.ts';
import { readHistory } from '../../core/team/history.ts';
import { readRoster } from '../../core/team/roster.ts';
import { addedLines } from '../evidence/diff.ts';
import { checkMcpConfig } from '../gateway/mcp-config-file.ts';
import { readTemplateText } from '../roles/agent-templates.ts';
import { readFrontmatter } from '../roles/frontmatter.ts';
import { parseYamlFile } from '../subagents/file-values.ts';
import { jsonProblem } from './json-file.ts';

/** The functions that `offThread` can run, by name. */
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
