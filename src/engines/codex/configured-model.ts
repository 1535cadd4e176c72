import { join } from 'node:path';
import type { TurnInput } from '../../core/ports/engine.ts';
import { projectFolders, upwards } from '../project-commands.ts';
import { readProjectText } from '../read-text.ts';
import { modelIn, trustedIn, userConfig } from './user-config.ts';

/** The nearest `.codex/config.toml` of a trusted project counts before the user's own. */
export function configuredModel({
  env,
  cwd,
  worktree,
}: Pick<TurnInput, 'env' | 'cwd' | 'worktree'>): string | null {
  const config = userConfig(env);
  const [ofProject] = projectFolders(cwd).flatMap(
    folder => modelIn(readProjectText(join(folder, '.codex', 'config.toml'))) ?? [],
  );
  if (ofProject === undefined) return modelIn(config);
  // Whether Codex takes a work tree for trusted depends on the checkout it was made from.
  if (worktree) return null;
  const trusted = trustedIn(config);
  return upwards(cwd).some(folder => trusted.includes(folder)) ? ofProject : modelIn(config);
}
