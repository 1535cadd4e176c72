import { unwatchFile, watchFile } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigInForce, McpConfigs } from '../../core/ports/gateway.ts';
import { whenFree } from '../files/file-lock.ts';
import { NameWatch } from '../files/watch-name.ts';
import { trustPath } from '../settings/trust.ts';
import { changeLock } from './change-mcp-config.ts';
import { judgeConfig } from './judge-config.ts';
import { mcpConfigPath, readMcpConfig } from './mcp-config-file.ts';

export interface McpConfigsOptions {
  /** Squad's home, where trust is kept. */
  home: string;
  /** What people should know, once for as long as it is so. */
  warn(message: string): void;
}

/** A workspace that nobody keeps, and nobody has asked about for this long, is not watched any more. */
const IDLE_MS = 10 * 60_000;
/** An editor's save is several steps, and each is told. */
const SETTLE_MS = 50;
const TRUST_EVERY_MS = 500;

/** Keeps what `.squad/mcp-config.json` says of every workspace that was asked about. */
export function createMcpConfigs({ home, warn }: McpConfigsOptions): McpConfigs {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(workspace: string) => void>();
  const trustFile = trustPath(home);
  let isClosed = false;

  const onTrust = () => {
    for (const entry of entries.values()) if (entry.isWatched) soon(entry);
  };
  const sweep = setInterval(() => {
    const since = performance.now() - IDLE_MS;
    for (const entry of entries.values()) if (entry.keepers === 0 && entry.askedAt < since) unwatch(entry);
  }, IDLE_MS / 2).unref();

  return {
    async of(workspace) {
      const entry = asked(workspace);
      await refresh(entry);
      return entry.inForce!;
    },
    known(workspace) {
      if (!entries.has(workspace)) return null;
      return asked(workspace).inForce;
    },
    keep(workspace) {
      const entry = asked(workspace);
      entry.keepers += 1;
      let isKept = true;
      return () => {
        if (!isKept) return;
        isKept = false;
        entry.keepers -= 1;
        entry.askedAt = performance.now();
      };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      isClosed = true;
      clearInterval(sweep);
      for (const entry of entries.values()) unwatch(entry);
      listeners.clear();
    },
  };

  function asked(workspace: string): Entry {
    const entry = entries.get(workspace) ?? newEntry(workspace);
    entries.set(workspace, entry);
    entry.askedAt = performance.now();
    if (!entry.isWatched && !isClosed) {
      // Not the home: its database changes with every event.
      if (![...entries.values()].some(each => each.isWatched))
        watchFile(trustFile, { interval: TRUST_EVERY_MS, persistent: false }, onTrust);
      entry.isWatched = true;
      // It was not, and may have changed; a first question looks for itself.
      if (entry.inForce) soon(entry);
    }
    return entry;
  }

  function unwatch(entry: Entry): void {
    if (!entry.isWatched) return;
    entry.isWatched = false;
    clearTimeout(entry.timer);
    entry.timer = undefined;
    for (const watch of entry.watches) watch.close();
    if (![...entries.values()].some(each => each.isWatched)) unwatchFile(trustFile, onTrust);
  }

  function newEntry(workspace: string): Entry {
    const file = mcpConfigPath(workspace);
    const watched = (folder: string, name: string) =>
      new NameWatch({
        folder,
        name,
        onChange: () => soon(entry),
        onTrouble: reason =>
          warn(`${folder} cannot be watched (${reason}): changes of ${file} count when the next run starts.`),
      });
    const entry: Entry = {
      workspace,
      inForce: null,
      text: null,
      watches: [watched(workspace, '.squad'), watched(dirname(file), 'mcp-config.json')],
      isWatched: false,
      askedAt: 0,
      keepers: 0,
      timer: undefined,
      looking: Promise.resolve(),
      next: null,
    };
    return entry;
  }

  function soon(entry: Entry): void {
    if (!entry.isWatched) return;
    entry.timer ??= setTimeout(() => {
      entry.timer = undefined;
      void refresh(entry);
    }, SETTLE_MS).unref();
  }

  /** Settles after a look that began now or later; whoever asks meanwhile shares the next one. */
  function refresh(entry: Entry): Promise<void> {
    entry.next ??= entry.looking.then(() => {
      entry.next = null;
      entry.looking = look(entry);
      return entry.looking;
    });
    return entry.next;
  }

  async function judged(entry: Entry): ReturnType<typeof judgeConfig> {
    const file = mcpConfigPath(entry.workspace);
    const counted = { config: entry.inForce?.config ?? null, text: entry.text };
    const judge = async () => judgeConfig(home, file, await read(entry), counted);
    try {
      const first = await judge();
      if (first.config !== null || first.state === 'none') return first;
      // A change of ours is two files, one after the other: this may be the text of after with the trust of before.
      await whenFree(changeLock(home));
      return await judge().catch(() => first);
    } catch (thrown) {
      return judgeConfig(home, file, { fault: `cannot be read: ${thrown}` }, counted);
    }
  }

  async function look(entry: Entry): Promise<void> {
    const before = entry.inForce;
    // Before the file is read, so that what changes afterwards is told.
    if (entry.isWatched) await Promise.all(entry.watches.map(watch => watch.renew()));
    const { text, ...inForce } = await judged(entry);
    if (!entry.isWatched) for (const watch of entry.watches) watch.close();
    entry.inForce = inForce;
    entry.text = text;
    for (const warning of inForce.warnings) if (!before?.warnings.includes(warning)) warn(warning);
    if (before && !isDeepStrictEqual(before.config, inForce.config))
      for (const listener of listeners) listener(entry.workspace);
  }
}

interface Entry {
  workspace: string;
  inForce: ConfigInForce | null;
  /** The text that what is in force was read from. */
  text: string | null;
  watches: NameWatch[];
  isWatched: boolean;
  askedAt: number;
  /** Runs that are at work with it. */
  keepers: number;
  timer: NodeJS.Timeout | undefined;
  looking: Promise<void>;
  next: Promise<void> | null;
}

/** Some editors move the old file away before the new one is there: that must not take everything from everybody. */
async function read({ workspace, inForce }: Entry): ReturnType<typeof readMcpConfig> {
  const first = await readMcpConfig(workspace);
  if (!('missing' in first) || !inForce?.config) return first;
  await pause(SETTLE_MS);
  return readMcpConfig(workspace);
}
