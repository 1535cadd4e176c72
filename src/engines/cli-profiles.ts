import type { EngineReader } from '../core/ports/engine.ts';
import { CLI_IDS, type CliId, type ParserKind } from '../schema/engine-spec.ts';
import { CLAUDE } from './claude/claude-profile.ts';
import type { CliProfile } from './cli-profile.ts';
import { CODEX } from './codex/codex-profile.ts';
import { COPILOT } from './copilot/copilot-profile.ts';
import { CURSOR } from './cursor/cursor-profile.ts';
import { GEMINI } from './gemini/gemini-profile.ts';
import { OPENCODE } from './opencode/opencode-profile.ts';
import { QWEN } from './qwen/qwen-profile.ts';
import { parseEventLine } from './scripted/event-line.ts';

const PROFILES: Record<CliId, CliProfile> = {
  claude: CLAUDE,
  codex: CODEX,
  gemini: GEMINI,
  opencode: OPENCODE,
  copilot: COPILOT,
  qwen: QWEN,
  cursor: CURSOR,
};

export const cliProfiles = (): CliProfile[] => CLI_IDS.map(cliProfile);

export const cliProfile = (id: CliId): CliProfile => PROFILES[id];

/** Returns the reader of an event format. Null for plain text. */
export function readerOf(kind: ParserKind): (() => EngineReader) | null {
  if (kind === 'text') return null;
  if (kind === 'squad') return () => ({ line: parseEventLine });
  return () => cliProfile(kind).reader();
}
