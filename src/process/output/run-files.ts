import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isCutOff, readRefusedHosts } from '../sandbox/network-record.ts';
import { isOver, isRunName, runFolder, type TurnKey, turnFolder } from '../turns/turn-record.ts';
import { createLineFollower, type OnLine, type OnLongLine } from './line-follower.ts';
import { createLineIndex } from './line-index.ts';
import { readPage } from './output-page.ts';
import { type OutputQuery, searchOutput } from './output-search.ts';
import { removeTree, writeBelow } from './own-folder.ts';
import { openUnlinked, readRegular } from './regular-file.ts';

type OutputStream = 'stdout' | 'stderr';

const ENVIRONMENT = 'environment.json';
const VARIABLES = 'variables.json';

/**
 * Folders of runs are `<run>/{run.json,environment.json,variables.json,answer.txt,structured.json}` and
 * `<run>/turn-<n>/{prompt.md,stdout,stderr,pid,exit}`. Folders of chats are `<engine>/<chat>/`. Only the user can
 * read them. Same shape as the core's type `RunFiles`.
 */
export function createRunFiles<RunName extends string>({
  runsDir,
  chatsDir,
}: {
  runsDir: string;
  chatsDir: string;
}) {
  const followLines = createLineFollower();
  const lines = createLineIndex();
  const runFile = (runId: string, name: string): string => join(runFolder(runsDir, runId), name);
  const chatFolder = (engine: string, chatId: string): string =>
    join(chatsDir, folderName(engine), folderName(chatId));
  const chatHome = (engine: string, chatId: string): string => join(chatFolder(engine, chatId), 'home');
  const outputPath = (turn: TurnKey, stream: OutputStream): string => join(turnFolder(runsDir, turn), stream);

  function turnFile(turn: TurnKey, name: string): string {
    if (name.split('/').some(part => part === '' || part.startsWith('.')))
      throw new Error(`Not a file name: ${JSON.stringify(name)}`);
    return join(turnFolder(runsDir, turn), name);
  }

  return {
    async prepare(turn: TurnKey, prompt: string) {
      const promptFile = turnFile(turn, 'prompt.md');
      const folder = join(promptFile, '..');
      // An existing folder may have a prompt file already, which is replaced atomically. Most folders are new.
      if (existsSync(folder)) return { promptFile: await save(promptFile, prompt) };
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      create(promptFile, prompt);
      return { promptFile };
    },
    path: turnFile,
    write: async (turn: TurnKey, name: string, content: string) => save(turnFile(turn, name), content),
    async writeAt(turn: TurnKey, name: string, offset: number, content: string) {
      const fd = openSync(
        turnFile(turn, name),
        constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        const bytes = Buffer.from(content);
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, offset + at);
      } finally {
        closeSync(fd);
      }
    },
    chatFolder,
    writeInChat: async (engine: string, chatId: string, name: string, content: string) =>
      writeBelow(chatFolder(engine, chatId), name, content),
    chatHome,
    hasChatHome: (engine: string, chatId: string) => existsSync(chatHome(engine, chatId)),
    async nameChat(engine: string, before: string, chatId: string) {
      const [from, to] = [chatFolder(engine, before), chatFolder(engine, chatId)];
      if (existsSync(from) && !existsSync(to)) renameSync(from, to);
    },
    read: async (turn: TurnKey, name: string) => readRegular(turnFile(turn, name)),
    refusedHosts: async (turn: TurnKey) => readRefusedHosts(turnFolder(runsDir, turn)),
    isCutOff: (turn: TurnKey) => isCutOff(turnFolder(runsDir, turn)),
    async readEnd(turn: TurnKey, name: string, limit: number) {
      const { text } = await readPage(turnFile(turn, name), -limit, limit, () => true);
      return text || null;
    },

    async saveEnvironment(runId: string, env: Record<string, string>) {
      await save(runFile(runId, ENVIRONMENT), JSON.stringify(env));
    },
    environment: (runId: string) => readVariables(runFile(runId, ENVIRONMENT)),
    /** Saves values that only the gateway uses. The agent does not get them. */
    async saveVariables(runId: string, variables: Record<string, string>) {
      await save(runFile(runId, VARIABLES), JSON.stringify(variables));
    },
    variables: (runId: string) => readVariables(runFile(runId, VARIABLES)),
    async dropEnvironment(runId: string) {
      for (const name of [ENVIRONMENT, VARIABLES]) rmSync(runFile(runId, name), { force: true });
    },

    outputPath,
    openOutput: (turn: TurnKey, stream: OutputStream) => openUnlinked(runsDir, outputPath(turn, stream)),
    size: async (turn: TurnKey, stream: OutputStream) => plainStat(outputPath(turn, stream))?.size ?? 0,
    async wroteAt(turn: TurnKey) {
      const found = (['stdout', 'stderr'] as const).map(stream => plainStat(outputPath(turn, stream)));
      return Math.max(...found.map(stat => (stat && stat.size > 0 ? stat.mtimeMs : 0))) || null;
    },
    page: (turn: TurnKey, stream: OutputStream, offset: number, limit: number, isWholeLines?: boolean) =>
      readPage(
        outputPath(turn, stream),
        offset,
        limit,
        () => isOver(turnFolder(runsDir, turn)),
        isWholeLines,
      ),
    lineAt: (turn: TurnKey, stream: OutputStream, offset: number, budgetMs: number) =>
      lines.lineAt(outputPath(turn, stream), offset, budgetMs),
    offsetOf: (turn: TurnKey, stream: OutputStream, line: number, budgetMs: number) =>
      lines.offsetOf(outputPath(turn, stream), line, budgetMs),
    search: (turn: TurnKey, stream: OutputStream, query: OutputQuery) =>
      searchOutput(outputPath(turn, stream), query),
    follow: (turn: TurnKey, stream: OutputStream, onLine: OnLine, onLongLine?: OnLongLine) =>
      followLines(outputPath(turn, stream), onLine, onLongLine),

    async saveAnswer(runId: string, answer: string | null) {
      if (answer === null) await rm(runFile(runId, 'answer.txt'), { force: true });
      else await save(runFile(runId, 'answer.txt'), answer);
    },
    answer: async (runId: string) => readRegular(runFile(runId, 'answer.txt')),

    async saveStructured(runId: string, value: unknown) {
      await save(runFile(runId, 'structured.json'), JSON.stringify(value));
    },
    structured: (runId: string) => readJson(runFile(runId, 'structured.json')),

    async saveRecord(runId: string, record: string) {
      try {
        replace(runFile(runId, 'run.json'), record);
      } catch (thrown) {
        // The folder of a pruned run must not be created again.
        none(null)(thrown as NodeJS.ErrnoException);
      }
    },
    record: async (runId: string) => readRegular(runFile(runId, 'run.json')),

    async list() {
      const names = await readdir(runsDir).catch(none([]));
      return Promise.all(
        names.filter(isRunName).map(async name => ({
          runId: name as RunName,
          changedAt: (await stat(join(runsDir, name))).mtimeMs,
        })),
      );
    },
    remove: (runId: string) => removeAll(runFolder(runsDir, runId)),

    async listChats() {
      const engines = await readdir(chatsDir).catch(none([]));
      const chats = engines.map(async engine => {
        const names = await readdir(join(chatsDir, engine)).catch(none([]));
        // A folder whose name is a hash is skipped, because the chat id cannot be recovered from it.
        const ids = names.filter(name => !HASH.test(name));
        return Promise.all(
          ids.map(async chatId => {
            const { mtimeMs } = await stat(join(chatsDir, engine, chatId));
            return { engine, chatId, changedAt: mtimeMs };
          }),
        );
      });
      return (await Promise.all(chats)).flat();
    },
    removeChat: (engine: string, chatId: string) => removeAll(chatFolder(engine, chatId)),
  };
}

/**
 * Atomic: a reader gets either the old or the new content. Synchronous, because every start of an agent waits for
 * this write, and a thread switch costs more than the call. The database writes to this disk synchronously too.
 */
async function save(path: string, content: string): Promise<string> {
  try {
    create(path, content);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    else if (code !== 'EEXIST') throw thrown;
    replace(path, content);
  }
  return path;
}

/** Nobody reads a new file before a row in the database refers to it, so the file needs no atomic rename. */
const create = (path: string, content: string): void =>
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });

function replace(path: string, content: string): void {
  writeFileSync(`${path}.new`, content, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Ids of engines may contain any character. An id that is not a safe file name is hashed. */
const folderName = (id: string): string =>
  /^[\w-]{1,100}$/.test(id) ? id : createHash('sha256').update(id).digest('hex');

const HASH = /^[0-9a-f]{64}$/;

/** Null also for a damaged file, which counts as missing. */
async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(readRegular(path) ?? 'null');
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

async function readVariables(path: string): Promise<Record<string, string>> {
  const found = await readJson(path);
  if (typeof found !== 'object' || found === null) return {};
  return Object.fromEntries(Object.entries(found).filter(([, value]) => typeof value === 'string'));
}

async function removeAll(folder: string): Promise<number> {
  const bytes = await sizeOfAll(folder);
  await removeTree(folder);
  return bytes;
}

async function sizeOfAll(folder: string): Promise<number> {
  // An agent may have removed a folder's permissions or nested it too deep. Its size is then unknown; it is deleted
  // anyway.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter(entry => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => {
    const found = await stat(join(parentPath, name)).catch(() => null);
    return found?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Facts about a regular file. Null if there is no file, or if it is a link or a device. */
function plainStat(path: string): Stats | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found : null;
}

/** Returns `value` if the file does not exist; other errors are thrown. */
const none =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
