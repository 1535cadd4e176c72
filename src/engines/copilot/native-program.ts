import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * npm's launcher waits for the agent and does not forward signals: when it is killed, the agent keeps running.
 * Therefore Squad starts the agent's own program from npm's package. If that program is not found, Squad uses the
 * launcher, which cannot be stopped cleanly.
 */
export function nativeProgram(program: string): string {
  const launcher = realpathSync(program);
  const packageFolder = dirname(launcher);
  if (basename(packageFolder) !== 'copilot' || basename(dirname(packageFolder)) !== '@github') return program;
  for (const modules of modulesAbove(packageFolder))
    for (const platform of platforms()) {
      const native = join(modules, '@github', `copilot-${platform}-${process.arch}`, 'copilot');
      if (existsSync(native)) return native;
    }
  return program;
}

/** Folders where Node searches for a package, from the launcher's folder upwards. */
function modulesAbove(folder: string): string[] {
  const found: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    found.push(basename(at) === 'node_modules' ? at : join(at, 'node_modules'));
    if (at === dirname(at)) return found;
  }
}

/**
 * npm installs the package for the machine's C library. If both variants are installed, the C library of this Node
 * decides.
 */
function platforms(): string[] {
  if (process.platform !== 'linux') return [process.platform];
  return usesGlibc() ? ['linux', 'linuxmusl'] : ['linuxmusl', 'linux'];
}

function usesGlibc(): boolean {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime !== undefined;
}
