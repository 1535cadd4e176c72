import { CLI_IDS, type CliId } from '../schema/engine-spec.ts';
import { CLAUDE } from './claude/claude-profile.ts';
import type { CliProfile } from './cli-profile.ts';
import { CODEX } from './codex/codex-profile.ts';
import { COPILOT } from './copilot/copilot-profile.ts';
import { CURSOR } from './cursor/cursor-profile.ts';
import { GEMINI } from './gemini/gemini-profile.ts';
import { OPENCODE } from './opencode/opencode-profile.ts';
import { QWEN } from './qwen/qwen-profile.ts';

/** Every agent CLI with a folder of its own. */
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
