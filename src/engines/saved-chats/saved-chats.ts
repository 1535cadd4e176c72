import { offThread } from '../../core/off-thread.ts';
import type { Engines, SavedChat } from '../../core/ports/engine.ts';
import { type CliProcess, chatUsers } from '../../process/table/chat-users.ts';
import type { CliId } from '../../schema/engine-spec.ts';
import { asSquadError } from '../../schema/error.ts';
import type { CliProfile } from '../cli-profile.ts';
import { cliProfile } from '../cli-profiles.ts';
import type { ChatInFiles, ChatPlace } from './chat-files.ts';

/** Reads the chats of one CLI. Runs in another thread, because there may be thousands of files, or hostile ones. */
export const readSavedChats = (cli: CliId, place: ChatPlace): ChatInFiles[] =>
  cliProfile(cli).savedChats?.chats(place) ?? [];

/** Chats of these CLIs for a folder, newest first, with the processes that have them open. */
export async function savedChats(
  clis: readonly CliProfile[],
  folder: string,
  env: Record<string, string>,
): ReturnType<Engines['savedChats']> {
  const notes: string[] = [];
  const read = async (cli: CliProfile): Promise<SavedChat[]> => {
    const place = { folder, env };
    const found = await offThread(
      'saved chats',
      readSavedChats,
      Number.POSITIVE_INFINITY,
      cli.id,
      place,
    ).catch(thrown => {
      notes.push(`The chats of ${cli.name} could not be read: ${asSquadError(thrown).message}`);
      return [];
    });
    const users = found.length === 0 ? [] : usersOf(cli, found, folder);
    return found.map(({ id, title, changedAt, file }, at) => ({
      ...{ engine: cli.id, id, title, changedAt, file },
      openIn: users[at] ?? null,
    }));
  };
  const chats = (await Promise.all(clis.map(read))).flat();
  return { chats: chats.sort((a, b) => b.changedAt - a.changedAt), notes };
}

function usersOf(
  { programs, savedChats }: CliProfile,
  chats: readonly ChatInFiles[],
  folder: string,
): (CliProcess | null)[] {
  const isByFolder = savedChats?.traces === 'folder';
  return chatUsers(
    programs,
    chats.map(({ id, file, claimedBy, changedAt }) => ({
      ...{ id, file, claimedBy },
      folder: isByFolder ? { path: folder, changedAt } : null,
    })),
  );
}
