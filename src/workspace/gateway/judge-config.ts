import type { ConfigInForce } from '../../core/ports/gateway.ts';
import { asSquadError } from '../../schema/error.ts';
import type { McpConfig } from '../../schema/mcp-config.ts';
import type { TextFile } from '../files/text-file.ts';
import type { isTrusted } from '../settings/trust.ts';
import { checkMcpConfigAside, mayCount, remarkText } from './mcp-config-file.ts';
import { summaryText } from './mcp-summary.ts';

export interface Before {
  config: McpConfig | null;
  /** What `config` was read from. */
  text: string | null;
}

/** What counts of a file as it was just read, given what counted before. Nothing that is wrong ever gives more than that. */
export async function judgeConfig(
  home: string,
  file: string,
  read: TextFile,
  before: Before,
): Promise<ConfigInForce & Before> {
  if ('missing' in read) return { file, state: 'none', config: null, text: null, warnings: [] };
  if ('fault' in read) return invalid([`${file} ${read.fault}.`]);
  const { config, remarks } = await checkMcpConfigAside(read.text);
  const said = remarks.map(remark => remarkText(file, remark));
  if (!config) return invalid(said);
  const verdict = await trusted(() => mayCount(home, file, read.text, config));
  if (verdict === true) return { file, state: 'trusted', config, text: read.text, warnings: said };
  const why =
    verdict === false
      ? `${file} has no effect until you trust it: it would ${summaryText(config)}. Read it, then run \`squad trust\`.`
      : `${file} has no effect: ${verdict}`;
  return { file, state: 'untrusted', config: null, text: null, warnings: [why, ...said] };

  /** What counted goes on, unless trust in it was taken back. */
  async function invalid(warnings: string[]): Promise<ConfigInForce & Before> {
    const { config, text } = before;
    const goesOn =
      config !== null && text !== null && (await trusted(() => mayCount(home, file, text, config)));
    if (goesOn !== true) return { file, state: 'invalid', config: null, text: null, warnings };
    const kept = `${file} cannot be used as it is now; what it said before is still in force.`;
    return { file, state: 'invalid', config, text, warnings: [...warnings, kept] };
  }
}

/** Or why that cannot be told: a list of trusted files that cannot be read trusts nothing. */
async function trusted(ask: () => ReturnType<typeof isTrusted>): Promise<boolean | string> {
  try {
    return await ask();
  } catch (thrown) {
    return asSquadError(thrown).message;
  }
}
