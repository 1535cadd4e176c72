import type { PolicyRule, RunOptions } from '../../schema/run.ts';
import { held } from '../policy-rules.ts';

const NOTHING = 'it has no tools of its own, only those of MCP servers, which Squad holds';

/** Without a shell and without files of its own there is little it could do that it may not. The budget is Squad's to hold. */
export function nativePolicy({ permission, tools, outputSchema, effort }: RunOptions): PolicyRule[] {
  return [
    ...(permission === 'full' ? [] : [{ rule: `permission: ${permission}`, ...held(NOTHING) }]),
    ...(tools === null ? [] : [{ rule: `tools: ${tools.join(', ') || 'none'}`, ...held(NOTHING) }]),
    ...(outputSchema === null ? [] : [{ rule: 'output_schema', ...held() }]),
    ...(effort === null ? [] : [{ rule: `effort: ${effort}`, ...held() }]),
  ];
}
