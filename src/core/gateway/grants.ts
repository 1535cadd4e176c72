import type { ArgumentRule } from '../../schema/mcp-config.ts';

/** Names that may be used: those in every one of the lists. No list lets everything through. */
export interface NameRule {
  only: readonly ReadonlySet<string>[];
  except: ReadonlySet<string>;
}

/** What one role has of one server. */
export interface ServerGrant {
  server: string;
  tools: NameRule;
  resources: NameRule;
  prompts: NameRule;
  argumentRules: readonly ArgumentRule[];
}
