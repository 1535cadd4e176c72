import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { SavedChat } from '../../core/ports/engine.ts';
import type { Workspace } from '../../core/ports/workspace.ts';
import type { RunRequest } from '../../core/runs/run-request.ts';
import { inProcess, openElsewhere } from '../../core/runs/turn-start.ts';
import { checkTask } from '../../core/text.ts';
import { CliId } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { RunId } from '../../schema/ids.ts';
import { LOCAL } from '../../schema/machines/machine.ts';
import { Permission } from '../../schema/run.ts';
import { SandboxLevel } from '../../schema/sandbox.ts';
import { shellWord } from '../../schema/shell-word.ts';
import { type Call, operation, type UserServices } from '../operation.ts';
import { refuseBusyChat } from './reply-to-run.ts';
import { Started, started, startRuns, TimeoutMs } from './start-runs.ts';

type UserCall = Call<UserServices>;

const ListedChat = z.object({
  engine: CliId,
  id: z.string(),
  /** Beginning of the id that no other chat of the folder has. */
  short: z.string(),
  title: z.string().nullable(),
  changedAt: z.number(),
  /** Process that has the chat open. Null if none was found. */
  openIn: z.object({ pid: z.number(), command: z.string() }).nullable(),
  /** The last run that used the chat. Null if no run of this workspace did. */
  run: RunId.nullable(),
  /** False for a CLI that can only continue the chat itself. */
  canBeForked: z.boolean(),
});

/** Chats that the installed agent CLIs keep for the workspace's folder, newest first. */
export const listChats = operation({
  name: 'list_chats',
  route: 'GET /chats',
  input: z.strictObject({
    /** True to include chats that were begun by runs. */
    all: z.boolean().default(false),
    limit: z.number().int().min(1).max(1_000).default(20),
  }),
  output: z.object({
    folder: z.string(),
    chats: z.array(ListedChat),
    /** Number of chats that the limit left out. */
    more: z.number(),
    /** Number of chats that are left out because runs began them. */
    ofRuns: z.number(),
    notes: z.array(z.string()),
  }),
  async run(call, { all, limit }) {
    const { root } = await call.services.workspaces.open(call.caller);
    const { chats, notes } = await chatsOf(call, root);
    const runs = await call.services.store.runs({ workspace: root, limit: MAX_RUNS });
    const begunByRuns = new Set(runs.filter(({ chatIsNew }) => chatIsNew).map(({ chatId }) => chatId));
    const shown = all ? chats : chats.filter(({ id }) => !begunByRuns.has(id));
    const short = shortIds(chats.map(({ id }) => id));
    return {
      folder: root,
      chats: shown.slice(0, limit).map(({ engine, id, title, changedAt, openIn }) => ({
        ...{ engine, id, title, changedAt, openIn },
        short: short(id),
        run: runs.find(({ chatId }) => chatId === id)?.id ?? null,
        canBeForked: call.services.engines.chatAdoption(engine) !== 'continues',
      })),
      more: Math.max(0, shown.length - limit),
      ofRuns: chats.length - shown.length,
      notes,
    };
  },
});

const MAX_RUNS = 1_000;
const MIN_ID_LENGTH = 8;

function shortIds(ids: readonly string[]): (id: string) => string {
  const isUnique = (beginning: string) => ids.filter(id => id.startsWith(beginning)).length === 1;
  return id => {
    for (let length = MIN_ID_LENGTH; length < id.length; length++)
      if (isUnique(id.slice(0, length))) return id.slice(0, length);
    return id;
  };
}

/** Continues a chat that the user began in an agent CLI, as a run in its folder. */
export const adoptChat = operation({
  name: 'adopt_chat',
  route: 'POST /chats/{chat}/adopt',
  input: z.strictObject({
    /** Id of the chat, or the beginning of the id. */
    chat: z.string().min(1).max(200),
    text: z.string(),
    /** True to leave the chat as it is and continue a fork of it. */
    fork: z.boolean().default(false),
    role: z.string().optional(),
    model: z.string().min(1).optional(),
    permission: Permission.optional(),
    sandbox: SandboxLevel.optional(),
    budgetUsd: z.number().positive('a budget is more than 0; leave it out for none').optional(),
    timeoutMs: TimeoutMs.optional(),
  }),
  output: Started,
  async run(call, { chat: given, text: task, fork, role: roleId, ...options }) {
    checkTask(task);
    const { services } = call;
    const workspace = await services.workspaces.open(call.caller);
    const chat = chosen(await chatsOf(call, workspace.root), given, workspace.root);
    const { id, engine } = chat;
    const adoption = services.engines.chatAdoption(engine);
    if (fork && adoption === 'continues') throw noFork(chat, call);
    if (!fork) await refuseOpen(call, chat, workspace.root);
    const isFork = fork && adoption === 'forks';
    const request: RunRequest = {
      ...options,
      ...{ form: 'spawn', context: false, task, roleId, engine },
      ...{ isolation: 'none', machine: LOCAL, stateMode: 'stateful' },
      ...(isFork ? { forksChat: id } : { chatId: id, isAdopted: true }),
    };
    const start = () => startRuns(call, { members: [request] }, workspace);
    return started(adoption === 'copies' ? await withCopy(call, chat, workspace, start) : await start());
  },
});

async function chatsOf({ services, caller }: UserCall, folder: string) {
  return services.engines.savedChats(folder, await services.workspaces.environment(caller));
}

function chosen(
  { chats, notes }: Awaited<ReturnType<typeof chatsOf>>,
  given: string,
  folder: string,
): SavedChat {
  const exact = chats.filter(({ id }) => id === given);
  const found = exact.length > 0 ? exact : chats.filter(({ id }) => id.startsWith(given));
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new SquadError('CHAT_UNKNOWN', `No agent CLI keeps a chat ${given} for the folder ${folder}`, {
      suggestions: [...notes, '`squad adopt --all` lists the chats of this folder.'],
    });
  throw new SquadError('INVALID_INPUT', `${found.length} chats begin with ${given}`, {
    suggestions: [
      `Give more of the id: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}.`,
    ],
  });
}

/** A chat that changed this recently may be in use by a process that cannot be seen from here. */
const QUIET_MS = 3_000;

/** Two programs that continue one chat at the same time would mix up or lose what was said in it. */
async function refuseOpen(call: UserCall, chat: SavedChat, folder: string): Promise<void> {
  const { services } = call;
  refuseBusyChat(services, chat.id);
  const { openIn, changedAt } = chat;
  if (openIn !== null) throw isOpen(chat, inProcess(openIn), call);
  const quietIn = Math.min(QUIET_MS, QUIET_MS - (services.clock.now() - changedAt));
  if (quietIn <= 0) return;
  await delay(quietIn, undefined, { signal: call.signal });
  const now = (await chatsOf(call, folder)).chats.find(({ id }) => id === chat.id);
  if (now && now.changedAt !== changedAt)
    throw isOpen(chat, 'by a process that Squad cannot see: its file is changing', call);
}

function isOpen(chat: SavedChat, where: string, { services }: UserCall): SquadError {
  const { id, engine } = chat;
  return new SquadError('CHAT_BUSY', openElsewhere(chat, where), {
    suggestions: [
      'Close the chat there, then try again.',
      ...(services.engines.chatAdoption(engine) === 'continues'
        ? []
        : [`Or leave it open and continue a fork: \`squad adopt --fork ${shellWord(id)} "…"\`.`]),
    ],
  });
}

const noFork = ({ id, engine }: SavedChat, { services }: UserCall): SquadError =>
  new SquadError('INVALID_INPUT', `${nameOf(engine, services)} cannot fork a chat`, {
    suggestions: [`Continue the chat itself: \`squad adopt ${shellWord(id)} "…"\`.`],
  });

const nameOf = (engine: CliId, { engines }: UserServices): string =>
  engines.clis().find(({ cli }) => cli === engine)?.name ?? engine;

/** Continues a copy. If nothing was started, the copy is removed. */
async function withCopy<T>(
  { services: { engines, files } }: UserCall,
  chat: SavedChat,
  { root }: Workspace,
  start: () => Promise<T>,
): Promise<T> {
  const { engine, id } = chat;
  await engines.copyChat(chat, root, {
    chatFolder: files.chatFolder(engine, id),
    writeInChat: (name, content) => files.writeInChat(engine, id, name, content),
  });
  try {
    return await start();
  } catch (thrown) {
    await files.removeChat(engine, id);
    throw thrown;
  }
}
