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

/** As Claude Code calls the tool it was given for its permission prompts, and reads the answer. */
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
    const leave = await leaveFor(call, ownRun(call), { tool, input, id });
    return leave.isGiven
      ? { behavior: 'allow' as const, updatedInput: input }
      : { behavior: 'deny' as const, message: leave.why };
  },
});

async function leaveFor(call: Call, run: Run, use: ToolUse): Promise<PermissionAnswer> {
  const { inbox, engines } = call.services;
  const name = engines.clis().find(({ cli }) => cli === run.engine)?.name ?? run.engine;
  try {
    const item = await inbox.ask({ run, ...permissionAsk(name, use) });
    return toPermissionAnswer(await settled(call, run, item));
  } catch (thrown) {
    // Nobody can be asked this: it is refused in words the model understands, as a person would.
    if (!(thrown instanceof SquadError)) throw thrown;
    return { isGiven: false, why: `Not allowed, and the user could not be asked. ${thrown.message}` };
  }
}

/**
 * However long it takes: an engine that asks has no use for "not yet", so a hub that stops leaves it without an answer. Its place
 * among those at work is free meanwhile.
 */
async function settled(call: Call, run: Run, item: InboxItem): Promise<InboxItem> {
  const { services, signal } = call;
  const { inbox, runner, hub } = services;
  const known =
    item.state === 'open'
      ? await withHeartbeat(
          call,
          () => 'waits for the user',
          () => hub.whileAsking(() => runner.whileWaiting(run.id, () => inbox.untilSettled(item.id, signal))),
        )
      : item;
  if (known && !signal.aborted) inbox.handOut(known);
  return known ?? item;
}
