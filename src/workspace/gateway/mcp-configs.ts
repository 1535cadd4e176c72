import { unwatchFile, watchFile } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigInForce, McpConfigs } from '../../core/ports/gateway.ts';
import { asSquadError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import { whenFree } from '../files/file-lock.ts';
import type { TextFile } from '../files/text-file.ts';
import { NameWatch } from '../files/watch.ts';
import { type isTrusted, trustPath } from '../settings/trust.ts';
import { changeLock } from './change-mcp-config.ts';
import {
  checkMcpConfigOffThread,
  mayCount,
  mcpConfigPath,
  readMcpConfig,
  remarkText,
  summaryText,
} from './mcp-config-file.ts';

interface Before {
  config: McpConfig | null;
  /** Text of the file from which `config` was parsed. */
  text: string | null;
}

/**
 * Decides which configuration applies after the file was read, given the previous one. A mistake in the file never
 * grants more than before.
 */
export async function judgeConfig(
  home: string,
  file: string,
  read: TextFile,
  before: Before,
): Promise<ConfigInForce & Before> {
  if ('missing' in read) return { file, state: 'none', config: null, text: null, warnings: [] };
  if ('fault' in read) return invalid([`${file} ${read.fault}.`]);
  const { config, remarks } = await checkMcpConfigOffThread(read.text);
  const said = remarks.map(remark => remarkText(file, remark));
  if (!config) return invalid(said);
  const verdict = await trusted(() => mayCount(home, file, read.text, config));
  if (verdict === true) return { file, state: 'trusted', config, text: read.text, warnings: said };
  const why =
    verdict === false
      ? `${file} has no effect until you trust it: it would ${summaryText(config)}. Read it, then run \`squad trust\`.`
      : `${file} has no effect: ${verdict}`;
  return { file, state: 'untrusted', config: null, text: null, warnings: [why, ...said] };

  /** The previous configuration stays in force, unless the user no longer trusts it. */
  async function invalid(warnings: string[]): Promise<ConfigInForce & Before> {
    const { config, text } = before;
    const isStillTrusted =
      config !== null && text !== null && (await trusted(() => mayCount(home, file, text, config)));
    if (isStillTrusted !== true) return { file, state: 'invalid', config: null, text: null, warnings };
    const kept = `${file} cannot be used as it is now; the previous version stays in force.`;
    return { file, state: 'invalid', config, text, warnings: [...warnings, kept] };
  }
}

/**
 * Whether the user trusts the file, or why that is unknown. If the list of trusted files cannot be read, nothing is
 * trusted.
 */
async function trusted(ask: () => ReturnType<typeof isTrusted>): Promise<boolean | string> {
  try {
    return await ask();
  } catch (thrown) {
    return asSquadError(thrown).message;
  }
}

interface McpConfigsOptions {
  /** Squad's home folder, where trust is stored. */
  home: string;
  /** Called once per problem, not again while the problem lasts. */
  warn(message: string): void;
}

/** Time after which a workspace is no longer watched, if it has no runs and was not requested. */
const IDLE_MS = 10 * 60_000;
/** Delay before reading, because editors save in several steps, each with its own change event. */
const SETTLE_MS = 50;
const TRUST_POLL_MS = 500;

/** Keeps the parsed `.squad/mcp-config.json` of every workspace that was requested. */
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
      // One watch polls the file of trusted files. Watching the home folder would be expensive, because its database
      // changes with every event.
      if (![...entries.values()].some(each => each.isWatched))
        watchFile(trustFile, { interval: TRUST_POLL_MS, persistent: false }, onTrust);
      entry.isWatched = true;
      // The file may have changed while it was not watched. The first request reads it anyway.
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
        onError: reason =>
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
      reading: Promise.resolve(),
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

  /**
   * Reads the file again. Settles after a read that began now or later; requests that come meanwhile share that read.
   */
  function refresh(entry: Entry): Promise<void> {
    entry.next ??= entry.reading.then(() => {
      entry.next = null;
      entry.reading = update(entry);
      return entry.reading;
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
      // A change by Squad writes two files, so without the lock this could read the new text with the old trust.
      await whenFree(changeLock(home));
      return await judge().catch(() => first);
    } catch (thrown) {
      return judgeConfig(home, file, { fault: `cannot be read: ${thrown}` }, counted);
    }
  }

  async function update(entry: Entry): Promise<void> {
    const before = entry.inForce;
    // The watches are renewed before the file is read, so that later changes are noticed.
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
  /** Text of the file whose configuration is in force. */
  text: string | null;
  watches: NameWatch[];
  isWatched: boolean;
  askedAt: number;
  /** Number of runs that use this configuration. */
  keepers: number;
  timer: NodeJS.Timeout | undefined;
  reading: Promise<void>;
  next: Promise<void> | null;
}

/** Some editors move the old file away before they write the new one. No run may lose its servers because of that. */
async function read({ workspace, inForce }: Entry): ReturnType<typeof readMcpConfig> {
  const first = await readMcpConfig(workspace);
  if (!('missing' in first) || !inForce?.config) return first;
  await pause(SETTLE_MS);
  return readMcpConfig(workspace);
}
