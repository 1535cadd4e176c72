/** `node collect-and-die.ts PATH STEP`: collects the commits of a work tree, and is killed at that step as a hub would be. */
import { collectCommits } from '../worktrees/collect-commits.ts';

const [path = '', step] = process.argv.slice(2);
await collectCommits(path, process.env, 'refs', name => {
  if (name === step) process.kill(process.pid, 'SIGKILL');
});
