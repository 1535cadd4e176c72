/**
 * `node collect-and-die.ts PATH STEP`: collects the commits of a work tree and kills itself at that step, like a hub
 * that is killed.
 */
import { collectCommits } from '../worktrees/collect-commits.ts';

const [path = '', step] = process.argv.slice(2);
await collectCommits(path, process.env, 'refs', name => {
  if (name === step) process.kill(process.pid, 'SIGKILL');
});
