import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * npm's launcher waits for the agent and passes no signal on: ended, it leaves the agent running. So the agent itself is
 * started, wherever npm put its package. Nothing found: the launcher, which works until it is to be stopped.
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

/** Where Node would look for a package: inside the launcher's own folder first, then further up. */
function modulesAbove(folder: string): string[] {
  const found: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    found.push(basename(at) === 'node_modules' ? at : join(at, 'node_modules'));
    if (at === dirname(at)) return found;
  }
}

/** Which C library this machine has is told by which package npm installed; where both are, this Node's own decides. */
function platforms(): string[] {
  if (process.platform !== 'linux') return [process.platform];
  return usesGlibc() ? ['linux', 'linuxmusl'] : ['linuxmusl', 'linux'];
}

function usesGlibc(): boolean {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime !== undefined;
}
