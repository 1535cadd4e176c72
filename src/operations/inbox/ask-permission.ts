import { z } from 'zod';
import {
  type PermissionAnswer,
  permissionAsk,
  type ToolUse,
  toPermissionAnswer,
} from '../../core/inbox/engine-permission.ts';
import { SquadError } from '../../schema/error.ts';
import type { InboxItem } from '../../schema/inbox.ts';
import type { Run } from '../../schema/run.ts';
import { ownRun } from '../agent-services.ts';
import { type Call, operation } from '../operation.ts';
import { withHeartbeat } from '../runs/wait.ts';

/** The tool that Claude Code calls for its permission prompts (`--permission-prompt-tool`). */
export const askPermission = operation({
  name: 'ask_permission',
  route: 'POST /tools/ask_permission',
  agents: 'approvals',
  tool: {
    title: 'Ask permission',
    description:
      'For the engine, not for the model: asks the user whether one use of a tool is allowed, and waits for the answer.',
    readOnly: false,
    forAgents: true,
    textOnly: true,
  },
  input: z.object({
    tool_name: z.string(),
    input: z.record(z.string(), z.unknown()),
    tool_use_id: z.string().optional(),
  }),
  output: z.object({
    behavior: z.enum(['allow', 'deny']),
    updatedInput: z.record(z.string(), z.unknown()).optional(),
    message: z.string().optional(),
  }),
  async run(call, { tool_name: tool, input, tool_use_id: id = null }) {
    const permission = await permissionFor(call, ownRun(call), { tool, input, id });
    return permission.isGiven
      ? { behavior: 'allow' as const, updatedInput: input }
      : { behavior: 'deny' as const, message: permission.why };
  },
});

async function permissionFor(call: Call, run: Run, use: ToolUse): Promise<PermissionAnswer> {
  const { inbox, engines } = call.services;
  const name = engines.clis().find(({ cli }) => cli === run.engine)?.name ?? run.engine;
  try {
    const item = await inbox.ask({ run, ...permissionAsk(name, use) });
    return toPermissionAnswer(await untilClosed(call, run, item));
  } catch (thrown) {
    // This cannot be asked: refused with a message for the model.
    if (!(thrown instanceof SquadError)) throw thrown;
    return { isGiven: false, why: `Not allowed, and the user could not be asked. ${thrown.message}` };
  }
}

/**
 * Waits without a limit: the engine cannot use "not yet", so a hub that stops leaves it without an answer. The run gives up its
 * place in the queue meanwhile.
 */
async function untilClosed(call: Call, run: Run, item: InboxItem): Promise<InboxItem> {
  const { services, signal } = call;
  const { inbox, runner, hub } = services;
  const known =
    item.state === 'open'
      ? await withHeartbeat(
          call,
          () => 'waits for the user',
          () => hub.whileAsking(() => runner.whileWaiting(run.id, () => inbox.untilClosed(item.id, signal))),
        )
      : item;
  if (known && !signal.aborted) inbox.deliver(known);
  return known ?? item;
}
