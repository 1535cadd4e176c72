import { parentPort } from 'node:worker_threads';
import type { ThreadReply } from '../core/off-thread.ts';
import { checkSchema, checkValue } from '../core/output/structured-answer.ts';
import { buildContext } from '../core/roles/context.ts';
import { readBacklog } from '../core/team/backlog.ts';
import { readDecisions } from '../core/team/decisions.ts';
import { editBacklog } from '../core/team/edit-backlog.ts';
import { readHistory } from '../core/team/history.ts';
import { readRoster } from '../core/team/roster.ts';
import { readRecordedTurn } from '../engines/opencode/opencode-database.ts';
import { readSavedChats } from '../engines/saved-chats/saved-chats.ts';
import { asSquadError } from '../schema/error.ts';
import { addedLines } from '../workspace/evidence/diff.ts';
import { jsonProblem } from '../workspace/files/json-file.ts';
import { checkMcpConfig } from '../workspace/gateway/mcp-config-file.ts';
import { readTemplateText } from '../workspace/roles/agent-templates.ts';
import { readFrontmatter } from '../workspace/roles/frontmatter.ts';
import { parseYamlFile } from '../workspace/subagents/file-values.ts';

/** The functions that `offThread` can run, by name. */
const READERS = {
  backlog: readBacklog,
  context: buildContext,
  decisions: readDecisions,
  'edited backlog': editBacklog,
  history: readHistory,
  json: jsonProblem,
  'mcp-config': checkMcpConfig,
  'new file': addedLines,
  'opencode turn': readRecordedTurn,
  role: readFrontmatter,
  roster: readRoster,
  'saved chats': readSavedChats,
  schema: checkSchema,
  template: readTemplateText,
  'value by schema': checkValue,
  yaml: parseYamlFile,
};

/** Entry point of the thread that reads large files. See `offThread`. */
parentPort?.on('message', async ({ name, args }: { name: string; args: unknown[] }) => {
  const read = READERS[name as keyof typeof READERS] as (...args: unknown[]) => unknown;
  let reply: ThreadReply;
  try {
    reply = { result: await read(...args) };
  } catch (thrown) {
    reply = { error: asSquadError(thrown).toShape() };
  }
  parentPort?.postMessage(reply);
});
